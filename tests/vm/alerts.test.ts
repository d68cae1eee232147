// Alerts on the booted image, at receivers that no one here wrote: each alert reaches each of them once, also when all of
// them are down for a while, the management plane is killed and the machine is reset meanwhile, which loses no sample that was
// acknowledged. And a limit that switches
// a traced statistic on, and another that switches it off. Then the appliance is polled by SNMP.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { test } from 'node:test';
import type { Person } from '../stack/api.ts';
import { Canaries } from './canary.ts';
import { killedServices } from './clean.ts';
import { names, type Received, Receivers } from './receivers.ts';
import { rowOf } from './row.ts';
import { readyMachine } from './saved.ts';
import { until } from './until.ts';

interface Power {
  sentence: string;
  ended: { how: string };
  replayed: { samples: number; damagedBytes: number; sentence: string } | null;
}
interface Alert {
  id: string;
  class: string;
  state: string;
  labels: Record<string, string>;
  history: { kind: string; text: string }[];
  deliveries: { destinationName: string; event: string; state: string; attempts: number; lastError: string | null }[];
}
const TRACED = 'io.ops[disk]';
const rule = {
  ...{ direction: 'above', raiseForSeconds: 0, clearForSeconds: 0, repostSeconds: 0, noDataSeconds: 0 },
  ...{ severity: 'critical', enabled: true, destinations: [] },
};

/** A client that sends its gauges every few seconds, and minds nothing. */
class Client {
  readonly #api: Person;
  readonly #values = new Map<string, { name: string; labels: Record<string, string>; value: number }>();
  #timer: NodeJS.Timeout | undefined;
  #sent: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(api: Person) {
    this.#api = api;
  }

  set(name: string, value: number, labels: Record<string, string> = {}): Promise<void> {
    this.#values.set(JSON.stringify([name, labels]), { name, labels, value });
    return this.#send();
  }

  /** One after the other: on a slow machine what was sent before could arrive behind what is newer. */
  #send(): Promise<void> {
    clearTimeout(this.#timer);
    this.#sent = this.#sent.then(async () => {
      const samples = [...this.#values.values()];
      await this.#api.ask('POST', '/api/v1/import', { samples }).catch(() => {});
      clearTimeout(this.#timer);
      if (!this.#stopped) this.#timer = setTimeout(() => void this.#send(), 5_000);
    });
    return this.#sent;
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }
}

test('alerts, at real receivers', async (t) => {
  const receivers = await Receivers.start(t);
  const { machine, api, watch } = await readyMachine(t, 'alerts');
  watch.expect(...killedServices);
  const step = rowOf(t, () => ({ machine }));
  const client = new Client(api);
  t.after(() => client.stop());

  const alerts = async () => (await api.get<{ items: Alert[] }>('GET', '/api/alerts?state=all&limit=1000')).items;
  const outage = async (n: number) => (await alerts()).find(({ labels }) => labels.n === String(n));
  /** What each receiver got about the outages, in order. */
  const outages = (all: readonly Received[]) => all.filter(({ text }) => text.includes('Outage'));
  const heard = () => {
    const received = receivers.received();
    return names.map((name) => outages(received[name]));
  };
  const summary = (received: readonly Received[]) => received.map(({ event, id }) => `${event} ${id}`);
  const everybody = (what: string, count: number, seconds: number) =>
    until(what, seconds, () => heard().every((received) => received.length >= count), 500).catch((error: Error) => {
      const received = heard().map((all, at) => `${names[at]}: ${all.length} of ${count}`);
      throw new Error(`${error.message}; ${received.join(', ')}`);
    });

  await step('five destinations, each tested', async () => {
    for (const destination of receivers.destinations()) {
      const tried = await api.get<{ ok: boolean; exchange: { text: string }[] }>(
        'POST',
        '/api/destinations/test',
        destination,
      );
      assert.ok(tried.ok, `${destination.name}: ${tried.exchange.map(({ text }) => text).join('\n')}`);
      await api.get('POST', '/api/destinations', destination);
    }
    await until('the test messages', 20, () => names.every((name) => receivers.received()[name].length === 1));
    await api.get('POST', '/api/thresholds', { ...rule, name: 'Outage', expression: 'outage', raise: 10, clear: 5 });
  });

  await step('a limit is passed: each receiver is notified, once', async () => {
    const began = Date.now();
    await client.set('outage', 44, { n: '1' });
    await everybody('all five are notified', 1, 60);
    t.diagnostic(`from the sample to the last of five receivers: ${((Date.now() - began) / 1000).toFixed(1)} s`);
    const [mail, v2c, v3, syslog, webhook] = heard().map(([received]) => received as Received);
    assert.equal(
      new Set([mail, v2c, v3, syslog, webhook].map((received) => received?.id)).size,
      1,
      'it is one and the same event',
    );
    for (const received of [v2c, v3]) {
      assert.match(received?.text ?? '', /7710\.1\.1\.6 = STRING: "44"/);
      assert.match(received?.text ?? '', /7710\.1\.1\.7 = STRING: "10"/);
    }
    assert.match(
      syslog?.text ?? '',
      /^<26>1 .* value="44" limit="10" rule="Outage" label\.__name__="outage" label\.n="1"\]/,
    );
    assert.match(mail?.text ?? '', /^Subject: .*first.*Critical.*Outage/m);
    const { alert } = JSON.parse(webhook?.text ?? '') as { alert: { value: number; labels: object } };
    assert.deepEqual([alert.value, alert.labels], [44, { __name__: 'outage', n: '1' }]);
  });

  await step('above one limit a traced statistic is measured, below another no longer', async () => {
    type Dataset = { state: string; reason: string | null };
    const path = `/api/statistic-datasets/${encodeURIComponent(TRACED)}`;
    const state = async () => (await api.get<Dataset>('GET', path)).state;
    const before = await api.ask('GET', path);
    assert.ok(before.status === 404 || before.json<Dataset>().state === 'stopped', before.text);
    const made = await api.get<{ id: string }>('POST', '/api/thresholds', {
      ...{ ...rule, severity: 'info', name: 'Queue', expression: '{"queue.depth"}', raise: 10, clear: 5 },
      // To no one else: what the others receive is counted here.
      destinations: [(await api.get<{ items: { id: string }[] }>('GET', '/api/destinations')).items[4]?.id],
      actions: [{ on: 'raise', kind: 'resume-statistic', target: TRACED, forSeconds: 0 }],
    });
    await client.set('queue.depth', 11);
    await until('it is measured', 90, async () => (await state()) === 'recording', 1000);
    const samples = `count_over_time(cistern_io_ops{dataset="${TRACED}"}[1m])`;
    type Answer = { data: { result: { value: [number, string] }[] } };
    await until('it has samples', 60, async () => {
      const { data } = await api.get<Answer>('GET', `/api/v1/query?query=${encodeURIComponent(samples)}`);
      return data.result.some(({ value }) => Number(value[1]) > 1);
    });
    // Between the two limits it goes on.
    await client.set('queue.depth', 7);
    type Rule = { id: string; state: { series: { value: number; state: string }[] } };
    const seen = async () =>
      (await api.get<{ items: Rule[] }>('GET', '/api/thresholds')).items.find(({ id }) => id === made.id)?.state
        .series[0];
    await until('the rule has seen it', 30, async () => (await seen())?.value === 7);
    assert.deepEqual([(await seen())?.state, await state()], ['active', 'recording']);
    await client.set('queue.depth', 4);
    await until('it is no longer measured', 30, async () => (await state()) === 'suspended');
    const [alert] = (await alerts()).filter((one) => one.class === 'threshold.exceeded' && one.labels.n === undefined);
    const actions = alert?.history.filter(({ kind }) => kind === 'action').map(({ text }) => text) ?? [];
    assert.equal(actions.length, 2, actions.join());
    await until('the all-clear was sent', 30, async () =>
      (await alerts()).find(({ id }) => id === alert?.id)?.deliveries.every(({ state }) => state === 'delivered'),
    );
    await api.get('DELETE', `/api/thresholds/${made.id}`);
  });

  await step(
    'all receivers are down, akd is killed, the machine is reset: every alert arrives, none twice, and no sample is lost',
    async () => {
      const heardBefore = heard()[0]?.length ?? 0;
      await receivers.stop();
      await client.set('outage', 45, { n: '2' });
      // Each was tried, or stands behind something else that was.
      await until('all five are said to be down', 60, async () => {
        const found = await outage(2);
        return found?.deliveries.length === 5 && found.deliveries.every(({ lastError }) => lastError !== null);
      });
      const pid = () => machine.ssh('systemctl', 'show', 'cistern-akd', '-p', 'MainPID', '--value');
      const killed = await pid();
      await machine.ssh('systemctl', 'kill', '-s', 'KILL', 'cistern-akd');
      await client.set('outage', 46, { n: '3' });
      await until('akd is back', 90, async () => ![killed.trim(), '0'].includes((await pid()).trim()), 1000);
      await until('the alert of meanwhile', 90, async () => (await outage(3))?.deliveries.length === 5, 1000);
      await client.set('outage', 1, { n: '2' });
      await until('an all-clear waits as well', 60, async () => (await outage(2))?.state === 'cleared');
      for (const n of [2, 3])
        for (const { state, destinationName } of (await outage(n))?.deliveries ?? [])
          assert.equal(state, 'waiting', `${destinationName} is down, and was notified of ${n}`);
      const canaries = new Canaries(api);
      await canaries.some();
      await machine.reset();
      await canaries.end();
      await receivers.start();
      await machine.waitForSsh(300);
      await until(
        'akd is back after the reset',
        180,
        async () => (await api.ask('GET', '/api/alerts')).status === 200,
        1000,
      );
      await until('the store answers', 120, async () => (await api.ask('GET', '/api/v1/query?query=1')).status === 200);
      await canaries.mustBeThere(api);
      t.diagnostic(`${canaries.acknowledged.length} acknowledged samples were there after the reset`);
      const power = await until('the store says what it has read back', 60, async () => {
        const said = await api.get<Power>('GET', '/api/power');
        return said.replayed !== null && said;
      });
      t.diagnostic(`${power.sentence} ${power.replayed?.sentence}`);
      assert.equal(power.ended.how, 'interrupted');
      assert.ok((power.replayed?.samples ?? 0) > 0, 'what was acknowledged came back from the journal');
      assert.equal(power.replayed?.damagedBytes, 0);
      // The pools are read for the first time.
      await until('the pools are there', 60, async () => {
        const { items } = await api.get<{ items: { name: string; state: string }[] }>('GET', '/api/pools');
        const states = items.map(({ name, state }) => `${name} ${state}`).sort();
        return states.join() === 'system ONLINE,tank ONLINE';
      });
      await client.set('outage', 47, { n: '4' });
      await everybody('all five have received all', heardBefore + 4, 180);
      await until(
        'nothing waits any more',
        180,
        async () => (await alerts()).every(({ deliveries }) => deliveries.every(({ state }) => state === 'delivered')),
        1000,
      );
      await client.set('outage', 1, { n: '4' });
      await everybody('and of the end of the last one', heardBefore + 5, 90);

      const labels = new Map((await alerts()).map(({ id, labels }) => [id, labels.n]));
      const received = receivers.received();
      for (const name of names) {
        const ids = received[name].map(({ id }) => id);
        assert.ok(!ids.includes(''), `${name}: a message without an id`);
        assert.deepEqual(
          ids.filter((id, at) => ids.indexOf(id) !== at),
          [],
          `${name} was notified twice`,
        );
      }
      const inOrder = outages(received.webhook);
      assert.deepEqual(
        inOrder.map(({ event, alerts: [id] }) => `${event} ${labels.get(id as string)}`),
        ['raise 1', 'raise 2', 'raise 3', 'clear 2', 'raise 4', 'clear 4'],
      );
      for (const name of names) assert.deepEqual(summary(outages(received[name])), summary(inOrder), name);
      // Also what the appliance had to say itself: that it has started, that the receivers did not answer.
      await until('that has been posted as well', 60, async () => {
        const expected = (await alerts()).flatMap(({ id, deliveries }) =>
          deliveries
            .filter(({ destinationName }) => destinationName === 'webhook')
            .map(({ event }) => `${event} ${id}`),
        );
        const posted = receivers
          .received()
          .webhook.filter((one) => one.class !== 'test.message')
          .flatMap(({ event, alerts: ids }) => ids.map((id) => `${event} ${id}`));
        assert.deepEqual(posted.sort(), expected.sort());
        return true;
      });
      assert.deepEqual(receivers.wrong, []);
      const took: number[] = [];
      for (const { id } of (await alerts()).slice(0, 10))
        for (let n = 0; n < 5; n++) {
          const began = performance.now();
          await api.get('GET', `/api/alerts/${id}/findings`);
          took.push(performance.now() - began);
        }
      const p95 = took.toSorted((a, b) => a - b)[Math.floor(took.length * 0.95)];
      t.diagnostic(`what was found around an alert, ${took.length} times: p95 ${p95?.toFixed(0)} ms (asked: 1,000 ms)`);
      t.diagnostic(`messages: ${names.map((name) => `${name} ${received[name].length}`).join(', ')}; none twice`);
    },
  );

  await step(
    'polled by SNMP, it says what the management API says; no one may until a manager is allowed',
    async () => {
      const user = { name: 'poller', authPassword: 'c4nary auth poll', privPassword: 'c4nary priv poll' };
      const v2c = ['-v2c', '-c', 'c4nary-Poll'];
      const keys = ['-A', user.authPassword, '-x', 'AES', '-X', user.privPassword];
      const v3 = ['-v3', '-l', 'authPriv', '-u', user.name, '-a', 'SHA-256', ...keys];
      const mib = resolve('appliance-kit/mib');
      const env = { PATH: process.env.PATH, MIBDIRS: `${mib}:${mib}/base`, MIBS: 'CISTERN-MIB' };
      const ask = (tool: string, who: readonly string[], ...args: string[]) =>
        new Promise<string>((done, failed) =>
          execFile(
            tool,
            [...who, '-t', '3', '-r', '2', ...args.toSpliced(-1, 0, `127.0.0.1:${machine.ports.snmp}`)],
            { env, timeout: 120_000, maxBuffer: 16 << 20 },
            (error, stdout, stderr) => (error ? failed(new Error(stderr + stdout)) : done(stdout)),
          ),
        );
      const get = async (name: string) => (await ask('snmpget', v3, '-Oqv', `CISTERN-MIB::${name}`)).trim();
      const listening = () => machine.sh('ss -Hlnu | grep -c ":161 " || true');
      assert.equal((await listening()).trim(), '0', 'it listens before anybody may poll');
      const settings = { sources: [], authProtocol: 'SHA-256', contact: 'ops@example.com', location: 'rack 7' };
      await api.get('PUT', '/api/snmp-agent', {
        ...{ ...settings, enabled: true, community: 'c4nary-Poll' },
        ...{ user: user.name, authPassword: user.authPassword, privPassword: user.privPassword },
      });
      await until('SNMPv3 is answered', 60, async () => /^20\d\d/.test(await get('cisternSystemLastUpdate.0')), 1000);
      await assert.rejects(ask('snmpget', ['-v2c', '-c', 'public', '-r', '0'], 'CISTERN-MIB::cisternSystemVersion.0'));

      // Alerts come and go: what is compared is to be of the same moment, sooner or later.
      const walked = await until(
        'it says what the API says',
        90,
        async () => {
          const said = await ask('snmpwalk', v2c, '-Oq', 'CISTERN-MIB::cisternMIB');
          const column = (name: string) =>
            said
              .split('\n')
              .filter((line) => line.startsWith(`CISTERN-MIB::${name}.`))
              .map((line) => line.slice(line.indexOf(' ') + 1))
              .sort();
          type Named = { items: { name: string; id: string; bytes: number; state: string }[] };
          const pools = (await api.get<Named>('GET', '/api/pools')).items;
          assert.deepEqual(column('cisternPoolName'), pools.map(({ name }) => name).sort());
          assert.deepEqual(column('cisternPoolSize'), pools.map(({ bytes }) => String(bytes)).sort());
          assert.deepEqual(column('cisternPoolState'), ['online', 'online']);
          const disks = (await api.get<Named>('GET', '/api/disks')).items;
          assert.deepEqual(column('cisternDiskName'), disks.map(({ id }) => id).sort());
          assert.deepEqual(column('cisternDiskSizeMiB').filter((size) => size === '2048').length, 4);
          const services = (await api.get<Named>('GET', '/api/services')).items;
          assert.deepEqual(column('cisternServiceName'), services.map(({ name }) => name).sort());
          assert.ok(column('cisternDatasetName').includes('tank/telemetry'), column('cisternDatasetName').join());
          const active = (await api.get<{ items: { id: string }[] }>('GET', '/api/alerts?state=active')).items;
          assert.ok(active.length > 0);
          assert.deepEqual(column('cisternActiveAlertId'), active.map(({ id }) => id).sort());
          assert.ok(
            Number(column('cisternIngestSeries')[0]) > 0 && column('cisternInputName').includes('import'),
            said,
          );
          return said;
        },
        1000,
      );
      const table = await ask('snmptable', v3, '-Cf', '|', '-Ci', 'CISTERN-MIB::cisternPoolTable');
      assert.match(table, /^\d+\|tank\|online\|\d+\|/m);
      t.diagnostic(`snmpwalk: ${walked.trim().split('\n').length} objects`);

      // Who hangs vouches for nothing.
      await machine.ssh('systemctl', 'kill', '-s', 'STOP', 'cistern-akd');
      await until('nothing is answered', 90, async () => /No Such/.test(await get('cisternPoolsLastUpdate.0')), 2000);
      await machine.ssh('systemctl', 'kill', '-s', 'CONT', 'cistern-akd');
      await until('it is answered again', 60, async () => /^20\d\d/.test(await get('cisternPoolsLastUpdate.0')), 1000);
      await api.get('PUT', '/api/snmp-agent', { ...settings, enabled: false, user: '' });
      await until('no one may poll', 30, async () => (await listening()).trim() === '0', 1000);
    },
  );
});
