// Replication on real ZFS: to another dataset of the same machine, and to a second appliance, whose connection ends while
// it receives. What has arrived is resumed from, a missed week finds the newest snapshot that both have, an encrypted
// dataset arrives as it is, and what was written at the target stays.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Person } from '../stack/api.ts';
import type { Machine } from './machine.ts';
import { rowOf, wantsVariant } from './row.ts';
import { jobDone, readyMachine } from './saved.ts';
import { until } from './until.ts';

interface Replication {
  id: string;
  job: string | null;
  lastRun: { error: { code: string; detail: string } | null; bytes: number } | null;
  lastSuccess: { at: string; snapshot: string } | null;
  lagSeconds: number | null;
  retryAt: string | null;
}
interface Job {
  id: string;
  state: string;
  percent: number | null;
  step: string | null;
  result: { bytes: number; snapshot: string } | null;
  log: { text: string }[];
}

const MiB = 2 ** 20;

async function replicate(api: Person, input: object): Promise<Replication> {
  return await api.get<Replication>('POST', '/api/replications', {
    ...{ recursive: true, enabled: true, intermediate: true, bytesPerSecond: 0, lateAfterMinutes: 1440 },
    schedule: { every: 'month', day: 1 },
    ...input,
  });
}

const one = async (api: Person, id: string) => {
  const { items } = await api.get<{ items: Replication[] }>('GET', '/api/replications');
  return items.find((found) => found.id === id) as Replication;
};

async function run(api: Person, id: string): Promise<Job> {
  const job = await api.get<Job>('POST', `/api/replications/${id}/run`);
  await jobDone(api, job, 400);
  return await api.get<Job>('GET', `/api/jobs/${job.id}`);
}

const sum = (machine: Machine, path: string) => machine.sh(`cd ${path} && find . -type f | sort | xargs sha256sum`);

test('replication', async (t) => {
  const { machine: first, api } = await readyMachine(t, 'replication-first');
  const step = rowOf(t, () => ({ machine: first }));
  let home = '';

  await step('a dataset is replicated to another place of the same machine, then what changed', async () => {
    for (const [name, mountpoint] of [
      ['tank/home', '/srv/home'],
      ['tank/home/anna', '/srv/home/anna'],
      ['tank/copies', '/srv/copies'],
    ]) {
      await api.get('POST', '/api/datasets', { name, kind: 'filesystem', properties: { mountpoint } });
    }
    await first.sh('head -c 20000000 /dev/urandom >/srv/home/data; echo one >/srv/home/anna/note');
    const made = await replicate(api, { dataset: 'tank/home', target: { kind: 'here', dataset: 'tank/copies/home' } });
    const whole = await run(api, made.id);
    assert.ok((whole.result?.bytes ?? 0) > 20_000_000, JSON.stringify(whole.result));
    await first.sh('echo two >/srv/home/anna/note');
    const change = await run(api, made.id);
    assert.ok((change.result?.bytes ?? MiB) < MiB, `what changed is small: ${JSON.stringify(change.result)}`);
    assert.equal((await one(api, made.id)).lastSuccess?.snapshot, change.result?.snapshot);
    await first.sh('zfs mount tank/copies/home; zfs mount tank/copies/home/anna; true');
    assert.equal(await sum(first, '/srv/copies/home'), await sum(first, '/srv/home'));
    const readonly = await first.ssh('zfs', 'get', '-H', '-o', 'value', 'readonly', 'tank/copies/home');
    assert.equal(readonly.trim(), 'on');
    const left = (await first.ssh('zfs', 'list', '-H', '-o', 'name', '-t', 'snapshot', '-r', 'tank/home')).trim();
    assert.equal(left.split('\n').length, 2, `one snapshot of each dataset is kept: ${left}`);
    home = made.id;
  });

  await step('what was written at the target is not destroyed', async () => {
    await first.sh('zfs set readonly=off tank/copies/home && echo mine >/srv/copies/home/mine && zpool sync tank');
    await first.sh('echo three >/srv/home/data2');
    const job = await api.get<Job>('POST', `/api/replications/${home}/run`);
    await assert.rejects(jobDone(api, job, 120), /was written to since the last replication/);
    assert.equal((await first.sh('cat /srv/copies/home/mine')).trim(), 'mine');
    await until('an alert says so', 60, async () => {
      const { items } = await api.get<{ items: { class: string; text: string }[] }>('GET', '/api/alerts?state=active');
      return items.some((alert) => alert.class === 'replication.failed' && alert.text.includes('tank/copies/home'));
    });
    await first.sh(
      'zfs rollback tank/copies/home@$(zfs list -H -o name -t snapshot -S createtxg -d 1 tank/copies/home | head -1 | cut -d@ -f2)',
    );
    await run(api, home);
    await until('the alert is cleared', 60, async () => {
      const { items } = await api.get<{ items: { class: string }[] }>('GET', '/api/alerts?state=active');
      return !items.some((alert) => alert.class === 'replication.failed');
    });
  });

  const { machine: second, api: there } = await readyMachine(t, 'replication-second');
  let address = {};

  await step('a second appliance lets the first one in, by its key and below one dataset', async () => {
    const { identity } = await api.get<{ identity: { publicKey: string } }>('GET', '/api/replication-senders');
    await there.get('POST', '/api/datasets', {
      name: 'tank/in',
      kind: 'filesystem',
      properties: { mountpoint: '/srv/in' },
    });
    const garbage = await there.ask('POST', '/api/replication-senders', {
      ...{ name: 'first', publicKey: 'ssh-ed25519 nonsense', under: 'tank/in', quotaBytes: null },
    });
    assert.equal(garbage.status, 400);
    await there.get('POST', '/api/replication-senders', {
      name: 'first',
      publicKey: identity.publicKey,
      under: 'tank/in',
      quotaBytes: 2 ** 30,
    });
    assert.equal((await second.ssh('zfs', 'get', '-Hpo', 'value', 'quota', 'tank/in')).trim(), String(2 ** 30));
    // The machines reach each other by the port that the host forwards.
    const host = { host: '10.0.2.2', port: second.ports.replication };
    const { hostKey, fingerprint } = await api.get<{ hostKey: string; fingerprint: string }>(
      'POST',
      '/api/replications/fetch-host-key',
      host,
    );
    const { accepting } = await there.get<{ accepting: { hostFingerprint: string } }>(
      'GET',
      '/api/replication-senders',
    );
    assert.equal(fingerprint, accepting.hostFingerprint);
    address = { kind: 'ssh', ...host, user: 'cistern', hostKey };
    const look = (dataset: string) =>
      api.get<{ possible: boolean; sentence: string; cistern: { under: string } }>(
        'POST',
        '/api/replications/preview',
        {
          dataset: 'tank/home',
          target: { ...address, dataset },
        },
      );
    const inside = await look('tank/in/home');
    assert.deepEqual([inside.possible, inside.cistern.under], [true, 'tank/in']);
    await assert.rejects(look('tank/telemetry'), /below 'tank\/in'/);
  });

  /** A replication whose connection ends when a fifth has arrived; what has arrived is kept, and only the rest is sent. */
  const interrupted = async (
    name: string,
    { cut, patience, goOn }: { cut: () => Promise<unknown>; patience: number; goOn: (id: string) => Promise<unknown> },
  ) => {
    const place = `/srv/${name}`;
    await api.get('POST', '/api/datasets', {
      ...{ name: `tank/${name}`, kind: 'filesystem', properties: { mountpoint: place } },
    });
    await first.sh(`head -c 30000000 /dev/urandom >${place}/data`);
    const made = await replicate(api, {
      ...{ dataset: `tank/${name}`, target: { ...address, dataset: `tank/in/${name}` } },
      ...{ bytesPerSecond: 2 * MiB },
    });
    const job = await api.get<Job>('POST', `/api/replications/${made.id}/run`);
    const seen = await until('a fifth is there', 180, async () => {
      const found = await api.get<Job>('GET', `/api/jobs/${job.id}`);
      return (found.percent ?? 0) >= 20 && found;
    });
    assert.match(seen.step ?? '', /of about/);
    await cut();
    const ended = await until('the first one notices', patience, async () => {
      const found = await api.get<Job & { error: { code: string } | null }>('GET', `/api/jobs/${job.id}`);
      return found.state !== 'running' && found;
    });
    assert.equal(ended.state, 'failed');
    assert.ok((await one(api, made.id)).retryAt, 'it is tried again');
    await goOn(made.id);
    const after = await until('it goes on, and ends', 600, async () => {
      const found = await one(api, made.id);
      return found.lastSuccess && found;
    });
    t.diagnostic(`interrupted: ${JSON.stringify(ended.error)}; then ${after.lastRun?.bytes} bytes`);
    assert.ok((after.lastRun?.bytes ?? 0) < 27_000_000, `only the rest was sent: ${after.lastRun?.bytes}`);
    await second.sh(`zfs mount tank/in/${name}`);
    assert.equal(await sum(second, `/srv/in/${name}`), await sum(first, place));
  };

  await step('its connection is reset meanwhile: what has arrived is kept, and sent on when it is run', () =>
    interrupted('reset', {
      cut: () => second.sh("ss -K state established '( sport = :8022 )'"),
      patience: 60,
      goOn: (id) => run(api, id),
    }),
  );

  const cable = 'its cable is pulled meanwhile: what has arrived is kept, and it is resumed automatically';
  if (wantsVariant(cable)) {
    await step(cable, () =>
      interrupted('cable', {
        cut: () => second.qmp('set_link', { name: 'net0', up: false }),
        patience: 200,
        goOn: () => second.qmp('set_link', { name: 'net0', up: true }),
      }),
    );
  }

  const missed = 'after a missed time the newest common snapshot is found; an encrypted dataset arrives as it is';
  if (!wantsVariant(missed)) return;
  await step(missed, async () => {
    await api.get('POST', '/api/datasets', {
      ...{ name: 'tank/secret', kind: 'filesystem', properties: { mountpoint: '/srv/secret' } },
      encryption: { format: 'passphrase', passphrase: 'open sesame please' },
    });
    await first.sh('head -c 3000000 /dev/urandom >/srv/secret/data');
    const made = await replicate(api, { dataset: 'tank/secret', target: { ...address, dataset: 'tank/in/secret' } });
    await run(api, made.id);
    // Snapshots by hand in between: they arrive too, and the next increment begins at the newest of all.
    for (const name of ['monday', 'tuesday']) {
      await api.get('POST', '/api/snapshots', { datasets: ['tank/secret'], name, recursive: false });
      await first.sh(`echo ${name} >/srv/secret/${name}`);
    }
    await run(api, made.id);
    await first.sh('echo later >/srv/secret/later');
    const again = await run(api, made.id);
    assert.ok((again.result?.bytes ?? MiB) < MiB, JSON.stringify(again.result));
    const facts = await second.ssh('zfs', 'get', '-H', '-o', 'value', 'encryption,keystatus', 'tank/in/secret');
    assert.match(facts, /aes-256-gcm\nunavailable/);
    await second.sh("printf 'open sesame please' | zfs load-key tank/in/secret && zfs mount tank/in/secret");
    assert.equal(await sum(second, '/srv/in/secret'), await sum(first, '/srv/secret'));
  });
});
