// Storage on real ZFS: disks that are pulled, rot and are replaced, snapshots that are gone back to, pools that come and
// go, estimates held against what ZFS then makes of it, and a machine whose first system disk is gone. By the API, which
// the pages and the command line use; the pages have their own tests.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Person } from '../stack/api.ts';
import { brokenDisks, fullStore } from './clean.ts';
import { byId, type Machine, until } from './machine.ts';
import { rowOf } from './row.ts';
import { apiOf, jobDone, readyMachine } from './saved.ts';

interface Pool {
  name: string;
  state: string;
  sentence: string;
  errors: number;
  scan: { kind: string; state: string; percent: number; repairedBytes: number; errors: number } | null;
  vdevs: { name: string; state: string; children: { diskId: string; state: string; path: string }[] }[];
}
interface Alert {
  class: string;
  text: string;
  state: string;
  page: string;
}

const pool = (api: Person, name = 'tank') => api.get<Pool>('GET', `/api/pools/${name}`);
const alerts = async (api: Person, state = 'active') =>
  (await api.get<{ items: Alert[] }>('GET', `/api/alerts?state=${state}`)).items;

/** Sends one numbered sample after the other, each acknowledged before the next; `end` answers with what was acknowledged. */
function flow(api: Person) {
  const acknowledged: number[] = [];
  let stop = false;
  const running = (async () => {
    for (let n = 1; !stop; n++) {
      const reply = await api
        .ask('POST', '/api/v1/import', { samples: [{ name: 'flow', value: n, labels: { n: String(n) } }] })
        .catch(() => undefined);
      if (reply?.status === 200) acknowledged.push(n);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  })();
  return {
    acknowledged,
    end: async () => {
      stop = true;
      await running;
      return acknowledged;
    },
  };
}

async function query(
  api: Person,
  expression: string,
): Promise<{ metric: Record<string, string>; value: [number, string] }[]> {
  const path = `/api/v1/query?query=${encodeURIComponent(expression)}`;
  return (await api.get<{ data: { result: [] } }>('GET', path)).data.result;
}

async function missing(api: Person, sent: readonly number[]): Promise<number[]> {
  const there = new Set((await query(api, 'last_over_time(flow[2h])')).map(({ metric }) => Number(metric.n)));
  return sent.filter((n) => !there.has(n));
}

async function disksOf(t: TestContext, machine: Machine, api: Person): Promise<void> {
  const step = rowOf(t, () => ({ machine }));

  await step('a disk is pulled while metrics flow: alert within ten seconds, pool degraded', async () => {
    const sending = flow(api);
    t.after(() => sending.end());
    await until('metrics flow', 60, () => sending.acknowledged.length > 10);
    const pulled = Date.now();
    await machine.qmp('device_del', { id: 'disk-DATA1' });
    const alert = await until(
      'the alert',
      30,
      async () => (await alerts(api)).find((one) => one.class === 'pool.degraded'),
      200,
    );
    const seconds = (Date.now() - pulled) / 1000;
    t.diagnostic(`alert ${seconds.toFixed(1)} s after the disk was pulled`);
    // What is asked of a machine; an emulated one on a busy host is no such.
    if (machine.accelerated) assert.ok(seconds < 10, `the alert took ${seconds} s`);
    assert.match(alert.text, /DATA1/);
    assert.equal((await pool(api)).state, 'DEGRADED');

    await machine.plug('FRESH1', '2G');
    const advice = await until('the new disk is offered', 30, async () => {
      const found = await api.get<{ sentence: string; recommended: string | null }>(
        'GET',
        `/api/pools/tank/replacements?device=${byId('DATA1')}`,
      );
      return found.recommended !== null && found;
    });
    assert.equal(advice.recommended, byId('FRESH1'));
    assert.match(advice.sentence, /DATA1 was removed/);
    const job = await api.get<{ id: string }>('POST', '/api/pools/tank/replace', {
      device: byId('DATA1'),
      disk: byId('FRESH1'),
    });
    await jobDone(api, job);
    const whole = await pool(api);
    assert.equal(whole.state, 'ONLINE', whole.sentence);
    assert.ok(whole.vdevs.flatMap(({ children }) => children).some(({ diskId }) => diskId === byId('FRESH1')));
    await until(
      'the alert is cleared',
      30,
      async () => !(await alerts(api)).some((one) => one.class === 'pool.degraded'),
    );
    const sent = await sending.end();
    assert.deepEqual(await missing(api, sent), [], `of ${sent.length} acknowledged samples some are lost`);
    t.diagnostic(`${sent.length} samples were acknowledged meanwhile, and all are there`);
  });

  await step(
    'a virtual disk says nothing of itself, and its slot has no light: both are said, nothing hangs',
    async () => {
      const disk = `/api/disks/${byId('DATA0')}`;
      const health = await api.get<{ supported: boolean; sentence: string }>('GET', `${disk}/health`);
      assert.equal(health.supported, false, health.sentence);
      const light = await api.ask('POST', `${disk}/locate`, { on: true });
      assert.equal(light.status, 409);
      assert.match(light.text, /has no light that this system can switch/);
    },
  );

  await step('one side of a mirror rots: a scrub repairs it, says how much, and the file is as it was', async () => {
    await api.get('POST', '/api/datasets', {
      name: 'tank/files',
      kind: 'filesystem',
      properties: { mountpoint: '/srv/files', compression: 'off' },
    });
    const before = await machine.sh(
      'dd if=/dev/urandom of=/srv/files/kept bs=1M count=120 status=none && sync && zpool sync tank && sha256sum /srv/files/kept',
    );
    const victim = (await pool(api)).vdevs[1]?.children[0];
    assert.ok(victim);
    // From the first of its blocks there to the last; where that is, is for ZFS to choose.
    const there = (await blocksOf(machine, 'tank/files', '/srv/files/kept')).filter(({ vdev }) => vdev === 1);
    assert.ok(there.length > 64, `${there.length} blocks of the file are on the victim's mirror`);
    const from = Math.min(...there.map(({ at }) => at));
    const bytes = Math.max(...there.map(({ at }) => at)) + 128 * 2 ** 10 - from;
    await machine.sh(
      `dd if=/dev/urandom of=${victim.path} bs=1M seek=${from} count=${bytes} oflag=seek_bytes,direct iflag=count_bytes,fullblock status=none; sync`,
    );
    await api.get('POST', '/api/pools/tank/scrub', { action: 'start' });
    const scrubbed = await until('the scrub ends', 180, async () => {
      const { scan } = await pool(api);
      return scan?.kind === 'scrub' && scan.state === 'finished' && scan;
    });
    assert.ok(scrubbed.repairedBytes > 2 ** 20, `it repaired ${scrubbed.repairedBytes} bytes`);
    assert.equal(scrubbed.errors, 0);
    t.diagnostic(`the scrub repaired ${(scrubbed.repairedBytes / 2 ** 20).toFixed(1)} MiB`);
    const alert = await until('it is alerted', 30, async () =>
      (await alerts(api, 'all')).find((one) => one.class === 'scrub.found'),
    );
    assert.match(alert.text, /repaired [\d.]+ MiB.*Checksum errors were on /);
    const history = await api.get<{ items: { kind: string; sentence: string }[] }>('GET', '/api/pools/tank/scans');
    assert.match(history.items[0]?.sentence ?? '', /^It repaired/);
    assert.equal(await machine.sh('echo 3 >/proc/sys/vm/drop_caches; sha256sum /srv/files/kept'), before);
    await api.get('POST', '/api/pools/tank/clear', {});
  });

  await step('both sides rot: the damaged file is named, and the alert says so', async () => {
    await machine.sh('zpool sync tank; head -c 1048576 /dev/urandom >/srv/files/lost; zpool sync tank');
    const [block] = await blocksOf(machine, 'tank/files', '/srv/files/lost'); // both copies of its first
    assert.ok(block, 'zdb names no block of the file');
    const { vdev, at } = block;
    const children = (await pool(api)).vdevs[vdev]?.children ?? [];
    assert.equal(children.length, 2, `where its blocks are: on vdev ${vdev}`);
    for (const { path } of children) {
      await machine.sh(`dd if=/dev/urandom of=${path} bs=4096 seek=${at / 4096} count=16 oflag=direct status=none`);
    }
    await machine.sh('echo 3 >/proc/sys/vm/drop_caches; sync');
    await api.get('POST', '/api/pools/tank/scrub', { action: 'start' });
    await until('the damage is found', 180, async () => (await pool(api)).errors > 0);
    const { items } = await api.get<{ items: string[] }>('GET', '/api/pools/tank/damaged-files');
    assert.deepEqual(items, ['/srv/files/lost']);
    const alert = await until('it is alerted', 60, async () =>
      (await alerts(api)).find((one) => one.class === 'pool.damaged'),
    );
    assert.match(alert.text, /\/srv\/files\/lost/);
    await until('the scrub ends', 180, async () => (await pool(api)).scan?.state === 'finished');
    await api.get('DELETE', '/api/datasets/tank%2Ffiles', { confirm: 'tank/files', recursive: true });
    // ZFS forgets an error once two scrubs did not see it.
    for (let n = 0; n < 2; n++) {
      await api.get('POST', '/api/pools/tank/scrub', { action: 'start' });
      await until('the scrub ends', 180, async () => (await pool(api)).scan?.state === 'finished');
    }
    await api.get('POST', '/api/pools/tank/clear', {});
    await until(
      'the alert is cleared',
      60,
      async () => !(await alerts(api)).some((one) => one.class === 'pool.damaged'),
    );
  });
}

/** Where the data of a file are, by ZFS' own debugger: which vdev, and the place on its disks' partitions in bytes. */
async function blocksOf(machine: Machine, dataset: string, file: string): Promise<{ vdev: number; at: number }[]> {
  const blocks = await machine.sh(
    `zdb -ddddd ${dataset} $(stat -c %i ${file}) | sed -n 's/^ *[0-9a-f]* *L0 \\([0-9]*\\):\\([0-9a-f]*\\):.*/\\1 \\2/p'`,
  );
  return blocks
    .trim()
    .split('\n')
    .map((line) => line.split(' '))
    .flatMap(([vdev, offset]) =>
      // Offsets in a vdev count from behind the labels and the boot block: 4 MiB.
      offset === undefined ? [] : [{ vdev: Number(vdev), at: Number.parseInt(offset, 16) + 4 * 2 ** 20 }],
    );
}

async function datasetsOf(t: TestContext, machine: Machine, api: Person): Promise<void> {
  const step = rowOf(t, () => ({ machine }));

  await step(
    'the telemetry goes back to a snapshot: exactly what was there then, and what came later is kept aside',
    async () => {
      const send = (value: number) =>
        api.get('POST', '/api/v1/import', {
          samples: [{ name: 'rollback_marker', value, labels: { v: String(value) } }],
        });
      await send(1);
      const taken = await api.get<{ items?: { name: string }[]; names?: string[] }>('POST', '/api/snapshots', {
        datasets: ['tank/telemetry'],
        name: 'before',
        recursive: false,
      });
      assert.match(JSON.stringify(taken), /tank\/telemetry@before/);
      await send(2);
      const preview = await api.get<{ writtenSince: number }>(
        'GET',
        '/api/snapshots/tank%2Ftelemetry%40before/rollback-preview',
      );
      assert.ok(preview.writtenSince > 0, 'something was written since, just now');
      t.diagnostic(`what would be lost: ${JSON.stringify(preview).slice(0, 300)}`);
      const job = await api.get<{ id: string }>('POST', '/api/snapshots/tank%2Ftelemetry%40before/rollback', {
        confirm: 'tank/telemetry',
        keep: true,
        destroyNewer: false,
      });
      await jobDone(api, job);
      const markers = await until(
        'the store answers again',
        90,
        async () => {
          const found = await query(api, 'last_over_time(rollback_marker[2h])').catch(() => []);
          return found.length > 0 && found;
        },
        1000,
      );
      assert.deepEqual(
        markers.map(({ metric }) => metric.v),
        ['1'],
        'what came after the snapshot must be gone',
      );
      await send(3);
      assert.equal((await machine.sh('stat -c %U /srv/telemetry')).trim(), 'cistern-store');
      const list = await machine.sh('zfs list -H -o name,mountpoint -r tank');
      assert.match(list, /tank\/telemetry\t\/srv\/telemetry/);
      t.diagnostic(`datasets afterwards: ${list.trim().replaceAll('\n', '; ')}`);
    },
  );

  await step(
    'the dataset of the telemetry is full: nothing is acknowledged, which is an alert; with room again it goes on by itself',
    async () => {
      const send = () =>
        api.ask('POST', '/api/v1/import', { samples: [{ name: 'flow', value: 1, labels: { n: String(++sent) } }] });
      let sent = 1_000_000;
      const acknowledged: number[] = [];
      const began = Date.now();
      await machine.sh(
        // What is used grows meanwhile, and ZFS refuses a quota below it: without a quota all of the pool would be filled.
        'until zfs set quota=$(($(zfs get -Hpo value used tank/telemetry) + 4000000)) tank/telemetry; do sleep 1; done; dd if=/dev/urandom of=/srv/telemetry/fill bs=64k 2>/dev/null; sync; true',
      );
      const refused = await until('it refuses', 60, async () => {
        const reply = await send();
        if (reply.status === 200) acknowledged.push(sent);
        return reply.status !== 200 && reply;
      });
      assert.equal(refused.status, 503, refused.text);
      assert.match(refused.text, /quota|space/);
      assert.ok((await query(api, 'last_over_time(flow[2h])')).length > 0, 'what is stored can be read');
      const alert = await until('it is alerted', 60, async () => {
        await send();
        return (await alerts(api)).find((one) => one.class === 'store.refusing');
      });
      assert.match(alert.text, /measurements are refused: .*(quota|space)/);
      t.diagnostic(`${((Date.now() - began) / 1000).toFixed(0)} s after it was filled: ${alert.text}`);
      // Over its quota ZFS refuses to make a file shorter, too: the store starts all the same, and what it has can be read.
      await machine.sh('systemctl restart cistern-storaged');
      await until('the store answers', 90, async () => (await query(api, 'last_over_time(flow[2h])')).length > 0, 1000);
      assert.notEqual((await send()).status, 200);
      await machine.sh('rm /srv/telemetry/fill; zfs set quota=none tank/telemetry');
      await until('it takes them again', 90, async () => {
        const reply = await send();
        if (reply.status === 200) acknowledged.push(sent);
        return reply.status === 200;
      });
      await until(
        'the alert is cleared',
        120,
        async () => !(await alerts(api)).some((one) => one.class === 'store.refusing'),
        1000,
      );
      assert.deepEqual(await missing(api, acknowledged), []);
    },
  );

  await step('snapshots: a file is found and read in one, compared, cloned, held and destroyed', async () => {
    await api.get('POST', '/api/datasets', {
      name: 'tank/home',
      kind: 'filesystem',
      properties: { mountpoint: '/srv/home' },
    });
    await machine.sh('mkdir /srv/home/docs; echo first >"/srv/home/docs/a file"; zpool sync tank');
    await api.get('POST', '/api/snapshots', { datasets: ['tank/home'], name: 'one', recursive: false });
    await machine.sh('echo second >"/srv/home/docs/a file"; echo more >/srv/home/new');
    const file = await api.ask('GET', '/api/snapshots/tank%2Fhome%40one/files/content?path=docs/a%20file');
    assert.equal(file.text, 'first\n');
    const out = await api.ask('GET', '/api/snapshots/tank%2Fhome%40one/files/content?path=../../../etc/shadow');
    assert.equal(out.status, 400, out.text);
    const { items } = await api.get<{ items: { change: string; path: string }[] }>(
      'GET',
      '/api/snapshots/tank%2Fhome%40one/differences',
    );
    assert.ok(
      items.some(({ path }) => path.endsWith('new')) && items.some(({ path }) => path.endsWith('a file')),
      JSON.stringify(items),
    );
    await api.get('POST', '/api/snapshots/tank%2Fhome%40one/clone', { name: 'tank/copy', mountpoint: '/srv/copy' });
    assert.equal(await machine.sh('cat "/srv/copy/docs/a file"'), 'first\n');
    await api.get('POST', '/api/snapshots/hold', { names: ['tank/home@one'], tag: 'keep' });
    const kept = await api.get<{ refused: { name: string; reason: string }[] }>('POST', '/api/snapshots/destroy', {
      names: ['tank/home@one'],
    });
    assert.equal(kept.refused.length, 1);
    await api.get('POST', '/api/snapshots/release', { names: ['tank/home@one'], tag: 'keep' });
    await api.get('DELETE', '/api/datasets/tank%2Fcopy', { confirm: 'tank/copy', recursive: false });
    const gone = await api.get<{ destroyed: string[] }>('POST', '/api/snapshots/destroy', { names: ['tank/home@one'] });
    assert.equal(gone.destroyed.length, 1);
  });

  await step('an encrypted dataset: locked, unlocked, and never opened by a wrong passphrase', async () => {
    await api.get('POST', '/api/datasets', {
      name: 'tank/secret',
      kind: 'filesystem',
      properties: { mountpoint: '/srv/secret' },
      encryption: { format: 'passphrase', passphrase: 'c4nary-Passphrase' },
    });
    await machine.sh('echo hidden >/srv/secret/file');
    const key = (verb: string, body?: object) => api.ask('POST', `/api/datasets/tank%2Fsecret/${verb}-key`, body);
    assert.equal((await key('unload')).status, 200);
    assert.equal((await machine.sh('ls /srv/secret 2>/dev/null || true')).trim(), '');
    const wrong = await key('load', { passphrase: 'not the passphrase' });
    assert.equal(wrong.json<{ code: string }>().code, 'wrong_key', wrong.text);
    assert.equal((await key('load', { passphrase: 'c4nary-Passphrase' })).status, 200);
    assert.equal(await machine.sh('cat /srv/secret/file'), 'hidden\n');
    assert.equal(
      await machine.sh(
        'grep -rlF c4nary-Passphrase /var/lib/cistern /var/log 2>/dev/null; journalctl --no-pager | grep -cF c4nary-Passphrase || true',
      ),
      '0\n',
      'the passphrase was written down',
    );
  });

  await step('the estimate of a compression is within a tenth of what ZFS makes of it', async () => {
    // Three kinds of data that machines have: a log, measurements as JSON, and programs.
    const kinds: Record<string, string> = {
      // Not much has been logged yet: the same again and again, which no block knows of another. Of each line goes with it a
      // number, longer and shorter by turns: blocks that are all alike would all need one sector more, or all one less.
      log: `for n in $(seq 60); do journalctl --no-pager -o short-iso; done 2>/dev/null |
        awk 'BEGIN { srand(11) } { id = ""; for (k = int(NR / 2500) % 9; k > 0; k--) id = id sprintf("%04x", rand() * 65536); print $0, id }' | head -c 8000000`,
      json: `awk 'BEGIN { srand(7); for (i = 0; i < 60000; i++) printf "{\\"time\\":%d,\\"host\\":\\"web%d\\",\\"metric\\":\\"request.latency\\",\\"value\\":%.6f}\\n", 1767225600 + i, i % 40, exp(rand() * 3) }'`,
      programs: 'cat /usr/bin/* 2>/dev/null | head -c 8000000',
    };
    for (const [kind, command] of Object.entries(kinds)) {
      const source = `tank/${kind}`;
      await api.get('POST', '/api/datasets', {
        name: source,
        kind: 'filesystem',
        properties: { mountpoint: `/srv/${kind}`, compression: 'off' },
      });
      await machine.sh(`${command} >/srv/${kind}/data; zpool sync tank`);
      const job = await api.get<{ id: string }>(
        'POST',
        `/api/datasets/${encodeURIComponent(source)}/estimate-compression`,
        {},
      );
      await jobDone(api, job, 300);
      const { result } = await api.get<{ result: { levels: { compression: string; ratio: number }[] } }>(
        'GET',
        `/api/jobs/${job.id}`,
      );
      for (const compression of ['lz4', 'zstd-1', 'zstd-3', 'gzip-1']) {
        const target = `${source}-${compression}`;
        const real = Number(
          await machine.sh(
            // Not cp, which would have ZFS share the blocks as they are.
            `zfs create -o compression=${compression} -o mountpoint=/srv/${kind}-${compression} ${target} &&
              dd if=/srv/${kind}/data of=/srv/${kind}-${compression}/data bs=128k status=none && zpool sync tank &&
              zfs get -Hp -o value compressratio ${target}`,
          ),
        );
        const estimated = result.levels.find((level) => level.compression === compression)?.ratio ?? 0;
        t.diagnostic(`${kind} ${compression}: estimated ${estimated.toFixed(2)}, real ${real.toFixed(2)}`);
        assert.ok(
          Math.abs(estimated / real - 1) <= 0.1,
          `${kind} with ${compression}: ${estimated} estimated, ${real} real`,
        );
      }
    }
  });
}

test('storage', async (t) => {
  const { machine, api, watch } = await readyMachine(t, 'storage');
  // A virtual disk has no light to switch on.
  watch.expect(...brokenDisks, ...fullStore, /cistern-locate@/);
  const step = rowOf(t, () => ({ machine }));

  await t.test('disks', (t) => disksOf(t, machine, api));
  await t.test('datasets', (t) => datasetsOf(t, machine, api));

  await step('a pool is exported, found, refused under a name that exists, imported, and destroyed', async () => {
    await machine.plug('EXTRA1', '2G');
    await machine.plug('EXTRA2', '2G');
    const disks = [byId('EXTRA1'), byId('EXTRA2')];
    await until('the disks are free', 30, async () => {
      const { items } = await api.get<{ items: { id: string; state: string }[] }>('GET', '/api/disks');
      return disks.every((id) => items.some((disk) => disk.id === id && disk.state === 'available'));
    });
    const make = { name: 'vault', layout: 'mirror', disks, telemetry: false };
    await jobDone(api, await api.get('POST', '/api/pools', make));
    await api.get('POST', '/api/datasets', {
      name: 'vault/a',
      kind: 'filesystem',
      properties: { mountpoint: '/srv/a' },
    });
    await machine.sh('echo here >/srv/a/file');
    await jobDone(api, await api.get('POST', '/api/pools/vault/export'));
    // Four who look at the same time see the same: ZFS itself hides a pool from all but one of them.
    const seen = await Promise.all(
      Array.from({ length: 4 }, () =>
        api.get<{ items: { name: string; guid: string }[] }>('GET', '/api/importable-pools'),
      ),
    );
    for (const { items } of seen) {
      assert.deepEqual(
        items.map(({ name }) => name),
        ['vault'],
      );
    }
    const items = (seen[0] as (typeof seen)[0]).items;
    const { guid } = items[0] as { guid: string };
    const refused = await api.ask('POST', `/api/importable-pools/${guid}/import`, { name: 'tank' });
    assert.equal(refused.json<{ code: string }>().code, 'pool_exists');
    await jobDone(api, await api.get('POST', `/api/importable-pools/${guid}/import`, { name: 'attic' }));
    assert.equal(await machine.sh('cat /srv/a/file'), 'here\n');
    const { items: done } = await api.get<{ items: { text: string; by: string | null }[] }>(
      'GET',
      '/api/pools/attic/history',
    );
    assert.ok(
      done.some(({ text, by }) => text === 'pool.import' && by === 'admin'),
      JSON.stringify(done.slice(0, 5)),
    );
    assert.ok(done.some(({ text, by }) => /^zpool create .*vault mirror/.test(text) && /root/.test(by ?? '')));
    await jobDone(api, await api.get('DELETE', '/api/pools/attic?confirm=attic'));
    assert.equal((await api.ask('GET', '/api/pools/attic')).status, 404);
  });

  await step('the command line does what the page does, by the same names', async () => {
    await machine.sh("printf 'admin\\nthree ducks on a pond\\n' | cistern sign-in");
    assert.match(await machine.ssh('cistern', 'pools'), /^NAME +STATE.*\n(.*\n)*tank +ONLINE/);
    assert.match(await machine.ssh('cistern', 'pools', 'scrub', 'tank', '--action', 'start'), /scan\.kind +scrub/);
    const refused = await machine.ssh('cistern', 'pools', 'offline', 'tank', '--device', 'nobody').catch(String);
    assert.match(refused, /has no device nobody/);
    await machine.ssh('cistern', 'sign-out');
  });

  await step('a second system disk, and the machine starts without the first', async () => {
    await machine.plug('SYSTEM2', '16G');
    const own = (await pool(api, 'system')).vdevs[0] as unknown as { name: string };
    await until('the disk is free', 30, async () => {
      const { items } = await api.get<{ items: { id: string; state: string }[] }>('GET', '/api/disks');
      return items.some((disk) => disk.id === byId('SYSTEM2') && disk.state === 'available');
    });
    await jobDone(
      api,
      await api.get('POST', '/api/pools/system/attach', { device: own.name, disk: byId('SYSTEM2') }),
      400,
    );
    assert.match((await pool(api, 'system')).sentence, /^Healthy\. 2 disks in 1 mirror/);
    const id = await machine.sh('cat /etc/machine-id');
    const marker = { samples: [{ name: 'before_the_loss', value: 7 }] };
    assert.equal((await api.ask('POST', '/api/v1/import', marker)).status, 200);
    await machine.kill();
    await machine.start({ bootFrom: 'SYSTEM2' });
    await machine.waitForSsh(300);
    assert.equal(await machine.sh('cat /etc/machine-id'), id);
    const after = await until('management answers', 180, () => apiOf(machine).catch(() => undefined), 1000);
    const system = await pool(after, 'system');
    assert.equal(system.state, 'DEGRADED', system.sentence);
    assert.equal((await pool(after)).state, 'ONLINE');
    const found = await until('the store answers', 60, async () => {
      const result = await query(after, 'last_over_time(before_the_loss[2h])');
      return result.length > 0 && result;
    });
    assert.equal(found[0]?.value[1], '7');
    await until('it is alerted', 30, async () =>
      (await alerts(after)).some((one) => one.class === 'pool.degraded' && /system/.test(one.text + one.page)),
    );
  });
});
