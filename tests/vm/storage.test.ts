// Storage on real ZFS: disks that are pulled, rot and are replaced, pools that come and go, and a machine whose first
// system disk is gone. By the API, which the pages and the command line use; the pages have their own tests.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Person } from '../stack/api.ts';
import { alerts, missing, query } from './ask.ts';
import { brokenDisks } from './clean.ts';
import { byId, type Machine } from './machine.ts';
import { rowOf, wantsVariant } from './row.ts';
import { apiOf, jobDone, readyMachine } from './saved.ts';
import { until } from './until.ts';

interface Pool {
  name: string;
  state: string;
  sentence: string;
  errors: number;
  scan: { kind: string; state: string; percent: number; repairedBytes: number; errors: number } | null;
  vdevs: { name: string; state: string; children: { diskId: string; state: string; path: string }[] }[];
}
const pool = (api: Person, name = 'tank') => api.get<Pool>('GET', `/api/pools/${name}`);
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

  const both = 'both sides rot: the damaged file is named, and the alert says so';
  if (!wantsVariant(both)) {
    await api.get('DELETE', '/api/datasets/tank%2Ffiles', { confirm: 'tank/files', recursive: true });
    return;
  }
  await step(both, async () => {
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

/** Far from those that QEMU gives by itself. */
const OTHER_PLACE = 100;

async function moved(machine: Machine, api: Person): Promise<void> {
  const id = byId('DATA0');
  const disk = async () => {
    const { items } = await api.get<{ items: { id: string; place: string | null; serial: string }[] }>(
      'GET',
      '/api/disks',
    );
    return items.find((one) => one.id === id);
  };
  const before = await disk();
  assert.ok(before?.place, JSON.stringify(before));
  await machine.unplug('DATA0');
  await until('the pool misses it', 60, async () => (await pool(api)).state === 'DEGRADED');
  await machine.plug('DATA0', '2G', { at: OTHER_PLACE });
  const after = await until('the disk is seen again', 60, disk);
  assert.deepEqual([after.id, after.serial], [before.id, before.serial]);
  assert.notEqual(after.place, before.place);
  // Where ZFS has taken it back by itself there is nothing to bring online, which is answered as such.
  await api.ask('POST', '/api/pools/tank/online', { device: id });
  const whole = await until('the pool is whole', 120, async () => {
    const now = await pool(api);
    return now.state === 'ONLINE' && now;
  });
  const leaf = whole.vdevs.flatMap(({ children }) => children).find(({ diskId }) => diskId === id);
  assert.equal(leaf?.state, 'ONLINE', JSON.stringify(whole.vdevs));
  // Instead of the half hour after which the parts are compared again.
  await machine.sh('systemctl restart cistern-akd');
  const wanted = `The disk ${id} was in ${before.place} and is in ${after.place} now. Its pool finds it there.`;
  await until('it is said that it was moved', 180, async () => {
    const answer = await api.ask('GET', '/api/hardware').catch(() => undefined);
    if (answer?.status !== 200) return false;
    const { changes } = JSON.parse(answer.text) as { changes: { text: string }[] };
    return changes.filter(({ text }) => text === wanted).length === 1;
  });
}

test('storage', async (t) => {
  const { machine, api, watch } = await readyMachine(t, 'storage');
  // A virtual disk has no light to switch on.
  watch.expect(...brokenDisks, /cistern-locate@/);
  const step = rowOf(t, () => ({ machine }));

  await t.test('disks', (t) => disksOf(t, machine, api));

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

  await step('a second system disk is written, and the system pool is a mirror', async () => {
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
  });

  const elsewhere = 'a data disk that is plugged in elsewhere is the same disk, and its pool is whole';
  if (wantsVariant(elsewhere)) await step(elsewhere, () => moved(machine, api));

  const without = 'the machine starts without its first system disk, under UEFI and BIOS';
  if (!wantsVariant(without)) return;
  await step(without, async () => {
    const id = await machine.sh('cat /etc/machine-id');
    const marker = { samples: [{ name: 'before_the_loss', value: 7 }] };
    assert.equal((await api.ask('POST', '/api/v1/import', marker)).status, 200);
    await machine.kill();
    await machine.start({ bootFrom: 'SYSTEM2' });
    await machine.waitForSsh(300);
    await machine.kill();
    // The machine was set up under UEFI: the copy has the boot code of both.
    await machine.start({ bootFrom: 'SYSTEM2', firmware: 'bios' });
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
