// The machine itself, on the booted image: a time server that answers on the wire, a clock that it sets, and a network cable
// that is pulled and plugged in again.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { killedServices } from './clean.ts';
import { rowOf } from './row.ts';
import { readyMachine } from './saved.ts';
import { askOurTimeServer, HOST, timeServer } from './time-server.ts';
import { until } from './until.ts';

const run = promisify(execFile);

interface Alert {
  id: string;
  class: string;
  state: string;
  title: string;
  text: string;
  raisedAt: string;
  clearedAt: string | null;
  labels: Record<string, string>;
}
interface Itself {
  clock: {
    state: string;
    sentence: string;
    source: string | null;
    daemon: string | null;
    offsetSeconds: number | null;
  };
  links: {
    name: string;
    state: string;
    sentence: string;
    mtu: number;
    mac: string;
    addresses: { address: string; prefix: number; origin: string | null }[];
  }[];
  temperatures: { id: string; celsius: number }[];
  errors: string[];
}

/** The time server is ahead by so much. */
const AHEAD_SECONDS = 300;

/** How long the cable is out: an alert takes about thirty seconds. */
const OUT_SECONDS = 50;

test('the clock and the network of the machine itself', async (t) => {
  const { machine, api, watch } = await readyMachine(t, 'network');
  watch.expect(...killedServices, /^execd: .*msg="the firewall's rules were not as they should be/);
  const step = rowOf(t, () => ({ machine }));
  const itself = () => api.get<Itself>('GET', '/api/machine');
  const log = async (kind: string) =>
    (await api.get<{ items: Alert[] }>('GET', '/api/alerts?state=all&limit=1000')).items.filter(
      (one) => one.class === kind,
    );

  const received: { event: string; class: string }[] = [];
  const hook = createServer((request, response) => {
    let text = '';
    request.on('data', (data) => {
      text += data;
    });
    request.on('end', () => {
      const { event, alert } = JSON.parse(text) as { event: string; alert: { class: string } };
      received.push({ event, class: alert.class });
      response.end();
    });
  });
  hook.listen(0, '127.0.0.1');
  await once(hook, 'listening');
  t.after(() => {
    hook.closeAllConnections();
    hook.close();
  });

  await step('a machine with one cable and no time server', async () => {
    const now = await until('the machine has been looked at', 60, async () => {
      const found = await itself();
      return found.links.length > 0 && found.clock.state !== 'unknown' && found;
    });
    t.diagnostic(JSON.stringify(now));
    assert.deepEqual([now.errors, now.temperatures], [[], []], 'virtual disks say nothing of heat');
    assert.deepEqual(
      now.links.map(({ state }) => state),
      ['up'],
    );
    // QEMU's network has a DHCP server, which gives this one.
    const [{ addresses, mtu, mac } = { addresses: [], mtu: 0, mac: '' }] = now.links;
    const given = addresses.find(({ address }) => address === '10.0.2.15');
    assert.deepEqual([given?.prefix, given?.origin, mtu], [24, 'dhcp', 1500]);
    assert.match(mac, /^52:54:00(:[0-9a-f]{2}){3}$/);
    assert.equal(now.clock.daemon, 'chrony');
    assert.equal(now.clock.state, 'waiting');
    assert.deepEqual(await log('time.unsynchronised'), []);
  });

  await step('the installed systems: one, and an empty slot that cannot be chosen', async () => {
    type System = { name: string; running: boolean; starts: string; version: string; bytes: number; obstacle: string };
    const { items } = await api.get<{ items: System[] }>('GET', '/api/boot-environments');
    const { version } = await api.get<{ version: string }>('GET', '/api/status');
    const [a, b] = items as [System, System];
    assert.deepEqual([a.name, a.running, a.starts, a.version, a.obstacle], ['A', true, 'next', version, null]);
    assert.ok(a.bytes > 50 * 2 ** 20, `${a.bytes} bytes`);
    assert.deepEqual([b.name, b.running, b.starts, b.bytes], ['B', false, 'no', null]);
    assert.equal(b.obstacle, 'Nothing is installed in this slot.');
    assert.equal((await api.ask('POST', '/api/boot-environments/B/activate')).status, 409);
    // What runs is copied into it, as an update would be; then it can be chosen, and A again.
    await machine.sh(
      'set -e; disk=$(cat /run/cistern-root/disk); part() { lsblk -nrpo NAME,PARTLABEL /dev/$disk | grep " cistern-$1$" | cut -d" " -f1; }; ' +
        'dd if=$(part a) of=$(part b) bs=4M conv=fsync 2>/dev/null; mkdir -p /run/esp; mount -t vfat $(part esp) /run/esp; ' +
        'cp /run/esp/cistern/a/* /run/esp/cistern/b/; umount /run/esp; sync',
    );
    const starts = async (name: string) =>
      (await api.get<{ items: System[] }>('POST', `/api/boot-environments/${name}/activate`)).items.map(
        (one) => one.starts,
      );
    assert.deepEqual(await starts('B'), ['no', 'next']);
    assert.deepEqual(await starts('A'), ['next', 'no']);
  });

  await step('the system is tuned, also after execd was killed; taken back it is as it was', async () => {
    interface Tuning {
      atStart: boolean;
      tunables: { name: string; now: number | null; default: number | null; most: number }[];
    }
    const MIB = 1024 ** 2;
    const read = async () => {
      const now = await api.get<Tuning>('GET', '/api/tuning');
      return Object.fromEntries(now.tunables.map((one) => [one.name, one]));
    };
    const system = () =>
      machine.sh(
        'cd /sys/module/zfs/parameters && cat zfs_txg_timeout zfs_vdev_async_write_max_active /proc/sys/net/core/rmem_max; ' +
          'awk \'$1 == "c_max" { print $3 }\' /proc/spl/kstat/zfs/arcstats; cat /run/systemd/journald.conf.d/* 2>/dev/null | grep Use || echo none',
      );
    const before = await read();
    t.diagnostic(JSON.stringify(before));
    const first = await system();
    assert.deepEqual(first.split('\n').slice(0, 3), ['5', '10', String(64 * MIB)]);
    assert.equal(first.split('\n')[3], String(before['arc-maximum-bytes']?.now));
    const values = {
      ...{ 'arc-maximum-bytes': 256 * MIB, 'transaction-group-seconds': 3, 'writes-per-disk': 4 },
      ...{ 'socket-buffer-bytes': 32 * MIB, 'log-bytes': 32 * MIB },
    };
    await api.get('PUT', '/api/tuning', { values });
    const tuned = [
      '3',
      '4',
      String(32 * MIB),
      String(256 * MIB),
      `SystemMaxUse=${32 * MIB}`,
      `RuntimeMaxUse=${32 * MIB}`,
    ];
    assert.deepEqual((await system()).trim().split('\n'), tuned);
    await machine.sh('systemctl kill -s KILL cistern-execd');
    const after = await until('execd is back', 60, () => read().catch(() => null));
    assert.deepEqual(after['arc-maximum-bytes']?.default, before['arc-maximum-bytes']?.default);
    const refused = await api.ask('PUT', '/api/tuning', { values: { 'arc-maximum-bytes': 2 ** 50 } });
    assert.equal(refused.status, 400, refused.text);
    await api.get('PUT', '/api/tuning', { values: {} });
    assert.equal(await system(), first);
  });

  await step('the firewall: who is not let in is dropped and counted; what nobody confirms is taken back', async () => {
    interface Firewall {
      services: { name: string; ports: { port: number }[]; networks: string[]; senders: { address: string }[] }[];
      ownNetworks: string[];
      trying: { secondsLeft: number } | null;
      differs: string[];
    }
    const wall = () => api.get<Firewall>('GET', '/api/firewall');
    const rules = () => machine.sh('nft list chain inet cistern input');
    const anybody = /^\s*tcp dport \{ 80, 443 \} accept/m;
    const first = await until('its ports follow what is on', 30, async () => {
      const now = await wall();
      return now.services.some(({ name, ports }) => name === 'ssh' && ports.length > 0) && now;
    });
    t.diagnostic(JSON.stringify(first));
    // The image's own nft prints what was loaded in words that are understood.
    assert.deepEqual([first.differs, first.trying], [[], null]);
    assert.ok(first.ownNetworks.includes('10.0.2.0/24'), first.ownNetworks.join());
    assert.match(await rules(), anybody);
    assert.match(await machine.sh('systemctl is-active cistern-firewall'), /^active/);

    // From outside the networks of an input: 10.0.2.2, as the machine sees this one.
    const statsd = await api.get<Record<string, unknown>>('GET', '/api/inputs/statsd');
    const networks = async (list: string[]) => {
      const { enabled, seriesPerSecond, seriesBurst, senderSeriesPerSecond, senderSeriesBurst } = statsd;
      const { senderSamplesPerSecond } = statsd;
      const { port, picklePort, tlsPort, tlsClientCa, senderIsHost, hostNames, refusedSenders } = statsd;
      await api.get('PUT', '/api/inputs/statsd', {
        ...{ enabled, networks: list, seriesPerSecond, seriesBurst, senderSeriesPerSecond, senderSeriesBurst },
        senderSamplesPerSecond,
        ...{ port, picklePort, tlsPort, tlsClientCa, senderIsHost, hostNames, refusedSenders },
      });
    };
    await networks(['192.0.2.0/24']);
    const socket = createSocket('udp4');
    try {
      await until('its packets are dropped and counted', 20, async () => {
        socket.send('from.elsewhere:1|c', machine.ports.statsd, '127.0.0.1');
        return (await wall()).services.some(
          (one) => one.name === 'statsd' && one.senders.some(({ address }) => address === HOST),
        );
      });
      await networks(['own']);
      assert.match(await rules(), /ip saddr [^\n]*10\.0\.2\.0\/24[^\n]* udp dport 8125 accept/);
      await until('it is let in', 20, async () => {
        socket.send('from.own:1|c', machine.ports.statsd, '127.0.0.1');
        const found = await api.get<{ data: unknown[] }>('GET', '/api/v1/label/__name__/values');
        return JSON.stringify(found.data).includes('from_own') || JSON.stringify(found.data).includes('from.own');
      });
    } finally {
      socket.close();
    }

    const narrow = { services: [{ name: 'https', networks: ['10.0.2.0/24'] }] };
    await api.get('POST', '/api/firewall/try', { ...narrow, seconds: 10 });
    assert.doesNotMatch(await rules(), anybody);
    await until('it is taken back by time', 20, async () => anybody.test(await rules()));
    assert.equal((await wall()).trying, null);
    // By the end of execd, which the one after it makes good.
    await api.get('POST', '/api/firewall/try', { ...narrow, seconds: 600 });
    assert.doesNotMatch(await rules(), anybody);
    await machine.sh('systemctl kill -s KILL cistern-execd');
    await until('it is taken back by the end of execd', 30, async () => anybody.test(await rules()));
    await until('execd answers', 30, async () => (await wall()).trying === null);
    // Confirmed, it stays.
    await api.get('POST', '/api/firewall/try', { ...narrow, seconds: 600 });
    await api.get('POST', '/api/firewall/confirm');
    assert.doesNotMatch(await rules(), anybody);
    await machine.sh('systemctl restart cistern-execd cistern-firewall');
    assert.doesNotMatch(await rules(), anybody);
    await api.get('POST', '/api/firewall/try', { services: [{ name: 'https', networks: [] }], seconds: 600 });
    await api.get('POST', '/api/firewall/confirm');
    assert.match(await rules(), anybody);
    // What somebody else changes is found and made good.
    await machine.sh('nft insert rule inet cistern input tcp dport 23 accept');
    assert.match((await wall()).differs.join(), /tcp dport \[23\]/);
    assert.doesNotMatch(await rules(), /tcp dport 23 accept/);
  });

  await step('a time server answers: the clock is set by it, which is an alert, and then follows it', async () => {
    const server = await timeServer(AHEAD_SECONDS);
    try {
      await askOurTimeServer(api);
      const { clock } = await until('it is synchronised', 150, async () => {
        const found = await itself();
        return found.clock.state === 'synchronised' && found;
      });
      assert.equal(clock.source, HOST);
      assert.ok((clock.offsetSeconds ?? 1) < 0.1, `${clock.offsetSeconds} s off`);
      // The clock is also set whenever a kept machine is woken up.
      const stepped = await until('the step is an alert', 30, async () =>
        (await log('clock.stepped')).find(({ title }) => title === 'The clock was set forward by 5 minutes'),
      );
      t.diagnostic(`${clock.sentence} ${stepped.text}`);
      assert.ok(server.asked() >= 2, `asked ${server.asked()} times`);
    } finally {
      server.close();
    }
    // Looked for in the next step: it takes a minute.
    const url = `http://${HOST}:${(hook.address() as AddressInfo).port}/`;
    const webhook = { url, preset: 'json', verifyCertificate: true, secret: 'c4nary secret' };
    await api.get('POST', '/api/destinations', { name: 'hook', enabled: true, kind: 'webhook', webhook });
    await machine.ssh('systemctl', 'stop', 'chrony');
    await until('it is said not to run', 90, async () => /does not run/.test((await itself()).clock.sentence), 1000);
    const running = await machine.sh('systemctl is-active chrony || true');
    assert.equal(running.trim(), 'inactive', 'asking has not started it');
  });

  await step('a change of the configuration is in the log within two minutes, and not sent', async () => {
    const found = await until('it is in the log', 120, async () =>
      (await log('configuration.changed')).find(({ text }) => text.includes('“hook”')),
    );
    assert.match(found.text, /added the destination “hook”/);
    assert.ok(!JSON.stringify(found).includes('c4nary'));
    assert.ok(!received.some((one) => one.class === 'configuration.changed'));
  });

  await step('the cable is pulled: the link is down, which is sent once it can be, and clears', async () => {
    const [{ name } = { name: '' }] = (await itself()).links;
    await machine.link(false);
    try {
      // It cannot be asked meanwhile. Two looks of ten seconds each, and the ten seconds that a flap may last.
      await sleep(OUT_SECONDS * 1000);
    } finally {
      await machine.link(true);
    }
    await until('management is reached again', 120, async () => (await api.ask('GET', '/api/machine')).status === 200);
    const down = await until('it has cleared', 60, async () =>
      (await log('link.down')).find(({ state }) => state === 'cleared'),
    );
    assert.deepEqual(down.labels, { link: name });
    assert.equal(down.title, `The network link ${name} is down`);
    const seconds = (Date.parse(down.clearedAt ?? '') - Date.parse(down.raisedAt)) / 1000;
    t.diagnostic(`${down.text} It was an alert for ${seconds} s of the ${OUT_SECONDS} that the cable was out.`);
    assert.ok(seconds > OUT_SECONDS / 4 && seconds < OUT_SECONDS + 30, `${seconds} s`);
    assert.equal((await log('link.down')).length, 1);
    assert.equal((await itself()).links[0]?.state, 'up');
    // Not when the next try would be by the clock: the cable is why it failed.
    await until(
      'both are delivered',
      120,
      () => received.filter((one) => one.class === 'link.down').length === 2,
      1000,
    );
    assert.deepEqual(
      received.filter((one) => one.class === 'link.down').map(({ event }) => event),
      ['raise', 'clear'],
    );
  });

  await step('a user comes in by ssh, as long as it is on', async () => {
    const key = join(machine.dir, 'visitor');
    await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'visitor', '-f', key]);
    const visit = async (...command: string[]) => {
      const options = ['StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'LogLevel=ERROR', 'BatchMode=yes'];
      const words = options.flatMap((one) => ['-o', one]);
      return run(
        'ssh',
        ['-F', 'none', '-i', key, '-p', String(machine.ports.ssh), ...words, 'cistern-ssh@127.0.0.1', ...command],
        { timeout: 60_000 },
      ).then(
        ({ stdout }) => ({ status: 0, said: stdout }),
        (error: { code?: number; stderr?: string; stdout?: string }) => ({
          status: error.code ?? -1,
          said: `${error.stdout ?? ''}${error.stderr ?? ''}`,
        }),
      );
    };
    await api.get('POST', '/api/ssh-keys', { key: readFileSync(`${key}.pub`, 'utf8') });
    // Port 22 is that of this harness' own sshd; the connection that there is goes on. Should this step fail, it comes back.
    await machine.ssh('systemd-run', '--quiet', '--on-active=600', 'systemctl', 'start', 'ssh');
    await machine.sh('systemctl stop ssh.socket ssh 2>/dev/null || systemctl stop ssh');
    const guest = Number((await machine.ssh('date', '+%s%3N')).trim());
    const on = async (seconds: number) =>
      api.get<{ hostKey: string }>('PUT', '/api/ssh-access', {
        enabledUntil: new Date(guest + seconds * 1000).toISOString(),
        networks: ['own'],
      });
    const { hostKey } = await on(3_600);
    assert.match(hostKey, /^SHA256:/);
    const pools = await until('a user comes in', 60, async () => {
      const said = await visit('zpool', 'status');
      return said.status === 0 ? said.said : null;
    });
    assert.match(pools, /pool: tank/);
    const refused = await visit('zpool', 'destroy', 'tank');
    assert.equal(refused.status, 2);
    assert.match(refused.said, /there is no "zpool" here; “help” lists what there is/);
    assert.match((await visit('journal', '5')).said, /\S/);
    const stranger = `${key}-of-nobody`;
    await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', stranger]);
    await assert.rejects(
      run('ssh', [
        ...['-F', 'none', '-i', stranger, '-p', String(machine.ports.ssh), '-o', 'StrictHostKeyChecking=no'],
        ...['-o', 'UserKnownHostsFile=/dev/null', '-o', 'BatchMode=yes', 'cistern-ssh@127.0.0.1', 'uptime'],
      ]),
      /Permission denied/,
    );
    const entries = await until('the audit log has it', 120, async () => {
      const { items } = await api.get<{ items: Record<string, string>[] }>('GET', '/api/audit-log?way=ssh');
      return items.filter(({ action }) => action === 'ssh.sign-out').length === 3 ? items.toReversed() : null;
    });
    assert.deepEqual(
      entries.slice(0, 6).map(({ user, action, target }) => `${user} ${action} ${target}`),
      [
        ...['admin ssh.sign-in admin', 'admin ssh.run zpool status', 'admin ssh.sign-out admin'],
        ...['admin ssh.sign-in admin', 'admin ssh.refuse zpool destroy tank', 'admin ssh.sign-out admin'],
      ],
    );
    assert.ok(entries.every(({ address }) => address === HOST));
    // Its end: whoever is there is out, and nobody comes in.
    const staying = visit();
    const left = Number((await machine.ssh('date', '+%s%3N')).trim()) - guest;
    await on(left / 1000 + 20);
    assert.notEqual((await staying).status, 0);
    await until('ssh is off', 120, async () => {
      const state = await machine.sh('systemctl is-active cistern-sshd || true');
      return state.trim() === 'inactive';
    });
    await until(
      'the page says so',
      60,
      async () => (await api.get<{ enabledUntil: string | null }>('GET', '/api/ssh-access')).enabledUntil === null,
    );
    assert.notEqual((await visit('uptime')).status, 0);
    await machine.ssh('systemctl', 'start', 'ssh');
  });
});
