import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Bench, bench, eventually, PASSWORD } from '../../../tests/harness.ts';
import { parseDamagedFiles } from '../../platform/zfs/poolText.ts';

const GIB = 2 ** 30;
const id = (name: string) => `scsi-0QEMU_QEMU_HARDDISK_${name}`;

/** An appliance with a pool of two mirrors on its four disks. */
async function withTank(t: TestContext, options: Parameters<typeof bench>[1] = {}): Promise<Bench> {
  const b = await bench(t, options);
  await b.client.setUp();
  const disks = [1, 2, 3, 4].map((n) => id(`data${n}`));
  const made = await b.client.post('/api/pools', { name: 'tank', layout: 'mirror', disks, telemetry: true });
  assert.equal(made.status, 202);
  await b.appliance.jobs.settled();
  return b;
}

/** The machine was looked at since; a look that had begun before does not count. */
async function looked(b: Bench): Promise<void> {
  await b.appliance.poller.look();
  await b.appliance.poller.look();
}

/** A job's end; a resilver that it waits for takes as long as the clock is put on. */
async function ended(b: Bench, job: { id: string }) {
  return eventually(async () => {
    b.clock.advance(5);
    const { body } = await b.client.get(`/api/jobs/${job.id}`);
    assert.notEqual(body.state, 'running');
    return body;
  });
}

async function tank(b: Bench) {
  b.clock.advance(5);
  return (await b.client.get('/api/pools/tank')).body;
}

const classes = (b: Bench) =>
  b.client.get('/api/alerts?state=all').then(({ body }) => body.items.map((one: { class: string }) => one.class));

test('a disk that was pulled is replaced: advice, a job that follows the resilver, and all is well', async (t) => {
  const b = await withTank(t);
  await b.simulation.simulate('disk-remove', { disk: 'data2' });
  await b.simulation.simulate('disk-add', { name: 'small', bytes: GIB });
  await b.simulation.simulate('disk-add', { name: 'large', bytes: 4 * GIB });
  await b.simulation.simulate('disk-add', { name: 'fresh', bytes: 2 * GIB });
  b.clock.advance(5);
  const advice = (await b.client.get(`/api/pools/tank/replacements?device=${id('data2')}`)).body;
  assert.match(advice.sentence, /^Disk scsi-0QEMU_QEMU_HARDDISK_data2 was removed\. What it held is copied/);
  assert.equal(advice.recommended, id('fresh'));
  assert.deepEqual(
    advice.candidates.map(({ disk, fits }: { disk: string; fits: boolean }) => [disk, fits]),
    [
      [id('fresh'), true],
      [id('large'), true],
      [id('small'), false],
    ],
  );
  const small = await b.client.post('/api/pools/tank/replace', { device: id('data2'), disk: id('small') });
  assert.equal(small.body.code, 'disk_too_small');
  assert.match(small.body.detail, /holds 1 GiB; .* must hold 2 GiB/);
  const used = await b.client.post('/api/pools/tank/replace', { device: id('data2'), disk: id('data3') });
  assert.equal(used.body.code, 'disk_in_use');
  const unknown = await b.client.post('/api/pools/tank/replace', { device: 'nobody', disk: id('fresh') });
  assert.equal(unknown.status, 404);
  assert.match(unknown.body.action, /data1/);

  const job = await b.client.post('/api/pools/tank/replace', { device: id('data2'), disk: id('fresh') });
  assert.equal(job.status, 202);
  const done = await ended(b, job.body);
  assert.equal(done.state, 'done', JSON.stringify(done.error));
  const pool = await tank(b);
  assert.equal(pool.state, 'ONLINE');
  assert.deepEqual(
    pool.vdevs[0].children.map((one: { diskId: string }) => one.diskId),
    [id('data1'), id('fresh')],
  );
});

test('a new disk in the old one’s place, which answers to its name', async (t) => {
  const b = await withTank(t);
  await b.simulation.simulate('disk-fault', { pool: 'tank', disk: 'data1' });
  b.clock.advance(5);
  const job = await b.client.post('/api/pools/tank/replace', { device: id('data1'), disk: id('data1') });
  assert.equal(job.body.cancellable, false);
  assert.equal((await ended(b, job.body)).state, 'done');
  assert.equal((await tank(b)).state, 'ONLINE');
});

test('a replacement that is cancelled leaves the new disk free', async (t) => {
  const b = await withTank(t, { scanSeconds: 100 });
  await b.simulation.simulate('disk-add', { name: 'fresh', bytes: 2 * GIB });
  const { body: job } = await b.client.post('/api/pools/tank/replace', { device: id('data1'), disk: id('fresh') });
  await eventually(async () => {
    assert.match((await b.client.get(`/api/jobs/${job.id}`)).body.step, /Resilver is running/);
  });
  assert.equal((await tank(b)).vdevs[0].children[0].type, 'replacing');
  assert.equal((await b.client.post(`/api/jobs/${job.id}/cancel`)).status, 200);
  await b.appliance.jobs.settled();
  assert.equal((await b.client.get(`/api/jobs/${job.id}`)).body.state, 'cancelled');
  b.clock.advance(5);
  assert.equal((await tank(b)).vdevs[0].children[0].diskId, id('data1'));
  const disks = (await b.client.get('/api/disks')).body.items;
  assert.equal(disks.find((disk: { id: string }) => disk.id === id('fresh')).state, 'available');
});

test('a disk that somebody takes out while it is filled ends the job in words', async (t) => {
  const b = await withTank(t, { scanSeconds: 100 });
  await b.simulation.simulate('disk-add', { name: 'fresh', bytes: 2 * GIB });
  const { body: job } = await b.client.post('/api/pools/tank/attach', { device: id('data1'), disk: id('fresh') });
  await eventually(async () => {
    assert.match((await b.client.get(`/api/jobs/${job.id}`)).body.step, /Resilver is running/);
  });
  assert.equal((await b.client.post('/api/pools/tank/detach', { device: id('fresh') })).status, 200);
  const end = await ended(b, job);
  assert.equal(end.state, 'failed');
  assert.match(end.error.detail, /fresh was taken out of the pool “tank” before it was filled/);
});

test('what would take the last copy is refused, with the reason', async (t) => {
  const b = await withTank(t);
  const off = (device: string) => b.client.post('/api/pools/tank/offline', { device: id(device) });
  assert.equal((await off('data1')).body.state, 'DEGRADED');
  b.clock.advance(5);
  const second = await off('data2');
  assert.equal(second.body.code, 'conflict');
  assert.match(second.body.detail, /data2 cannot be switched off: without it mirror-0 would not hold all data/);
  const detach = await b.client.post('/api/pools/tank/detach', { device: id('data2') });
  assert.equal(detach.body.code, 'conflict');
  assert.equal((await b.client.post('/api/pools/tank/online', { device: id('data1') })).body.state, 'ONLINE');
  const system = await b.client.post('/api/pools/system/offline', { device: id('system0') });
  assert.match(system.body.detail, /keeps nothing of it twice/);
});

test('a mirror gets a third side and gives it back; the system pool gets a second disk', async (t) => {
  const b = await withTank(t);
  await b.simulation.simulate('disk-add', { name: 'fresh', bytes: 2 * GIB });
  await b.simulation.simulate('disk-add', { name: 'second', bytes: 16 * GIB });
  const job = await b.client.post('/api/pools/tank/attach', { device: id('data1'), disk: id('fresh') });
  assert.equal((await ended(b, job.body)).state, 'done');
  assert.equal((await tank(b)).vdevs[0].children.length, 3);
  assert.equal(
    (await b.client.post('/api/pools/tank/detach', { device: id('fresh') })).body.vdevs[0].children.length,
    2,
  );
  b.clock.advance(5);
  const own = await b.client.post('/api/pools/system/attach', { device: id('system0'), disk: id('second') });
  assert.match(own.body.title, /a second disk that the appliance runs and starts from/);
  assert.equal((await ended(b, own.body)).state, 'done');
  b.clock.advance(5);
  assert.match((await b.client.get('/api/pools/system')).body.sentence, /^Healthy\. 2 disks in 1 mirror/);
  const replace = await b.client.post('/api/pools/system/replace', { device: id('system0'), disk: id('fresh') });
  assert.match(replace.body.action, /Attach the new disk/);
});

test('a scrub is started, paused, gone on with and stopped; what it repairs is told and remembered', async (t) => {
  const b = await withTank(t, { scanSeconds: 100 });
  const scrub = (action: string) => b.client.post('/api/pools/tank/scrub', { action });
  assert.match((await scrub('pause')).body.detail, /not being scrubbed/);
  const begun = await scrub('start');
  assert.equal(begun.body.scan.state, 'scanning');
  assert.match((await scrub('start')).body.detail, /already/);
  b.clock.advance(20);
  const paused = await scrub('pause');
  assert.ok(paused.body.scan.paused);
  b.clock.advance(500);
  assert.equal((await tank(b)).scan.percent, 20, 'a pause does not count');
  const on = await scrub('start');
  assert.equal(on.body.scan.percent, 20);
  assert.equal(on.body.scan.secondsLeft, 80);
  assert.equal((await scrub('stop')).body.scan.state, 'canceled');
  b.clock.advance(60);
  await b.simulation.simulate('pool-rot', { pool: 'tank', bytes: 8192 });
  await scrub('start');
  b.clock.advance(200);
  await looked(b);
  const { items } = (await b.client.get('/api/pools/tank/scans')).body;
  assert.deepEqual(
    items.map(({ state, sentence }: { state: string; sentence: string }) => [state, sentence]),
    [
      ['finished', 'It repaired 8 KiB.'],
      ['canceled', 'It was stopped before its end.'],
    ],
  );
  assert.ok((await classes(b)).includes('scrub.found'));
  await looked(b);
  assert.equal((await b.client.get('/api/pools/tank/scans')).body.items.length, 2, 'each once');
});

test('pools are scrubbed each month by themselves, or as somebody decides; not during a resilver', async (t) => {
  const b = await withTank(t, { scanSeconds: 100 });
  await looked(b);
  const before = (await b.client.get('/api/pools/tank/scrub-schedule')).body;
  assert.deepEqual([before.enabled, before.words], [true, 'on the 1st of each month at 02:00']);
  const bad = await b.client.put('/api/pools/tank/scrub-schedule', {
    enabled: true,
    schedule: { every: 'day', day: 3 },
  });
  assert.equal(bad.body.errors[0].path, '/schedule/day');
  const weekly = await b.client.put('/api/pools/tank/scrub-schedule', {
    enabled: true,
    schedule: { every: 'week', weekday: 0, at: '04:00' },
  });
  assert.equal(weekly.body.words, 'every Sunday at 04:00');
  b.clock.advance((Date.parse(weekly.body.nextRun) - b.clock.now()) / 1000 - 1);
  // A session does not last that long.
  assert.equal((await b.client.post('/api/session', { user: 'ada', password: PASSWORD })).status, 200);
  b.appliance.timetable.tick();
  await b.appliance.timetable.settled();
  assert.equal((await tank(b)).scan, null);
  b.appliance.timetable.tick();
  await b.appliance.timetable.settled();
  assert.equal((await tank(b)).scan.state, 'scanning');
  await b.client.put('/api/pools/tank/scrub-schedule', { enabled: false, schedule: { every: 'week' } });
  assert.deepEqual((await b.client.get('/api/pools/tank/scrub-schedule')).body.nextRun, null);
});

test('spares, logs and data are added; what would make the pool less safe is refused', async (t) => {
  const b = await withTank(t);
  for (const name of ['a', 'b', 'c']) await b.simulation.simulate('disk-add', { name, bytes: 2 * GIB });
  const add = (kind: string, layout: string, ...names: string[]) =>
    b.client.post('/api/pools/tank/add', { kind, layout, disks: names.map(id) });
  assert.match((await add('data', 'stripe', 'a')).body.detail, /would put all of it at risk/);
  assert.match((await add('spare', 'mirror', 'a', 'b')).body.detail, /A spare has no layout/);
  assert.equal((await ended(b, (await add('spare', 'stripe', 'a')).body)).state, 'done');
  b.clock.advance(5);
  assert.equal((await ended(b, (await add('data', 'mirror', 'b', 'c')).body)).state, 'done');
  const pool = await tank(b);
  assert.deepEqual(
    pool.vdevs.map(({ name }: { name: string }) => name),
    ['mirror-0', 'mirror-1', 'mirror-2', 'spares'],
  );
  assert.equal((await ended(b, (await b.client.post('/api/pools/tank/remove', { vdev: id('a') })).body)).state, 'done');
  b.clock.advance(5);
  assert.equal(
    (await ended(b, (await b.client.post('/api/pools/tank/remove', { vdev: 'mirror-2' })).body)).state,
    'done',
  );
  assert.equal((await tank(b)).vdevs.length, 2);
});

test('a pool is exported, found again, refused while it may be in use elsewhere, and imported', async (t) => {
  const b = await withTank(t);
  assert.equal((await ended(b, (await b.client.post('/api/pools/tank/export')).body)).state, 'done');
  await b.simulation.simulate('pool-elsewhere', { pool: 'tank' });
  b.clock.advance(5);
  assert.equal((await b.client.get('/api/pools/tank')).status, 404);
  const [found] = (await b.client.get('/api/importable-pools')).body.items;
  assert.equal(found.name, 'tank');
  assert.match(found.sentence, /Another machine has used it last/);
  const refused = await b.client.post(`/api/importable-pools/${found.guid}/import`, {});
  assert.match(refused.body.action, /by force/);
  assert.equal((await b.client.post('/api/importable-pools/1/import', {})).status, 404);
  const wrong = await b.client.post(`/api/importable-pools/${found.guid}/import`, { name: 'mirror' });
  assert.equal(wrong.body.errors[0].path, '/name');
  const job = await b.client.post(`/api/importable-pools/${found.guid}/import`, { name: 'vault', force: true });
  assert.equal((await ended(b, job.body)).state, 'done');
  b.clock.advance(5);
  assert.equal((await b.client.get('/api/pools/vault')).body.state, 'ONLINE');
});

test('destroying asks for the name; the system pool is never given up', async (t) => {
  const b = await withTank(t);
  assert.equal((await b.client.delete('/api/pools/tank?confirm=tan')).body.errors[0].path, '/confirm');
  assert.equal((await b.client.delete('/api/pools/system?confirm=system')).body.code, 'conflict');
  assert.equal((await b.client.post('/api/pools/system/export')).body.code, 'conflict');
  const job = await b.client.request('DELETE', '/api/pools/tank?confirm=tank');
  assert.equal((await ended(b, job.body)).state, 'done');
  b.clock.advance(5);
  assert.deepEqual(
    (await b.client.get('/api/pools')).body.items.map(({ name }: { name: string }) => name),
    ['system'],
  );
});

test('a foreign disk is erased only when it is named twice, and one in use never', async (t) => {
  const b = await withTank(t);
  await b.simulation.simulate('disk-add', { name: 'used', bytes: 2 * GIB });
  await b.simulation.simulate('disk-occupy', { disk: 'used', occupant: '/dev/sdf carries an ext4 file system.' });
  b.clock.advance(5);
  const wipe = (name: string, confirm: string) => b.client.post(`/api/disks/${id(name)}/wipe`, { confirm });
  assert.equal((await wipe('used', 'used')).body.errors[0].path, '/confirm');
  assert.equal((await wipe('data1', id('data1'))).body.code, 'disk_in_use');
  assert.equal((await wipe('used', id('used'))).status, 204);
  b.clock.advance(5);
  const disks = (await b.client.get('/api/disks')).body.items;
  assert.equal(disks.find((disk: { id: string }) => disk.id === id('used')).state, 'available');
  const health = (await b.client.get(`/api/disks/${id('used')}/health`)).body;
  assert.equal(health.supported, false);
  assert.match(health.sentence, /does not say how it is/);
});

test('alerts: a failed disk is named, and explains the degraded pool; damaged files and a full pool', async (t) => {
  const b = await withTank(t);
  await b.simulation.simulate('disk-fault', { pool: 'tank', disk: 'data1' });
  b.clock.advance(5);
  await looked(b);
  const active = async () =>
    (await b.client.get('/api/alerts?state=active')).body.items as { class: string; text: string; page: string }[];
  const failed = (await active()).filter((one) => one.class !== 'service.failed');
  assert.deepEqual(
    failed.map((one) => one.class),
    ['disk.faulted'],
  );
  assert.match(failed[0]?.text ?? '', /data1 \(QEMU HARDDISK, \/dev\/sdb\) of “tank” out of use .*12 read, 40 write/);
  assert.equal(failed[0]?.page, `/storage/pools/tank/replace?device=${id('data1')}`);
  await b.simulation.simulate('pool-heal', { pool: 'tank' });
  await b.simulation.simulate('pool-damage', { pool: 'tank', files: ['/srv/telemetry/blocks/1.block'] });
  await b.simulation.simulate('pool-fill', { pool: 'tank', ratio: 0.85 });
  b.clock.advance(5);
  await looked(b);
  b.clock.advance(61);
  await looked(b);
  const now = await active();
  assert.deepEqual(now.map((one) => one.class).sort(), ['pool.damaged', 'pool.full']);
  assert.match(
    now.find((one) => one.class === 'pool.damaged')?.text ?? '',
    /1 file on “tank” cannot be read any more: \/srv\/telemetry\/blocks\/1\.block\./,
  );
  assert.deepEqual((await b.client.get('/api/pools/tank/damaged-files')).body.items, ['/srv/telemetry/blocks/1.block']);
});

test('damaged files that ZFS does not name: how many errors there are, and where the names are', async (t) => {
  const b = await withTank(t);
  const text = 'errors: List of errors unavailable (insufficient privileges)\n';
  b.simulation.poolActions.damagedFiles = async (pool) => parseDamagedFiles(text, pool);
  await b.simulation.simulate('pool-damage', { pool: 'tank', files: ['a', 'b', 'c'] });
  b.clock.advance(5);
  await looked(b);
  const { items } = (await b.client.get('/api/alerts?state=active')).body;
  const alert = items.find((one: { class: string }) => one.class === 'pool.damaged');
  assert.match(alert.text, /^ZFS counts 3 errors on “tank” .* names of the damaged files were not available/);
  assert.match(alert.action, /run “zpool status -v tank” as root/);
  const { status, body } = await b.client.get('/api/pools/tank/damaged-files');
  assert.deepEqual([status, body.code, body.items], [502, 'command_failed', undefined]);
  assert.equal(body.action, 'Log in and run as root: zpool status -v tank');
});

test('the history of a pool is ZFS’ own and ours, which knows who asked', async (t) => {
  const b = await withTank(t);
  assert.equal(
    (await b.client.put('/api/pools/tank', { autotrim: false, comment: 'rack 3' })).body.properties.comment,
    'rack 3',
  );
  const { items } = (await b.client.get('/api/pools/tank/history')).body;
  assert.ok(
    items.some(
      (one: { source: string; by: string; text: string }) =>
        one.source === 'cistern' && one.by === 'ada' && one.text === 'pool.set',
    ),
  );
  assert.ok(
    items.some(
      (one: { source: string; text: string }) => one.source === 'zfs' && one.text === 'zpool set comment=rack 3 tank',
    ),
  );
  await b.simulation.simulate('pool-outdated', { pool: 'tank' });
  b.clock.advance(5);
  assert.equal((await b.client.post('/api/pools/tank/upgrade')).body.upgradable, false);
  assert.equal((await b.client.post('/api/pools/tank/upgrade')).body.code, 'conflict');
});
