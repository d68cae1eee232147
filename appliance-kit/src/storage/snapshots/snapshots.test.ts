import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Bench, bench, eventually, PASSWORD } from '../../../tests/harness.ts';
import type { PlatformSnapshot } from '../../platform/datasets.ts';
import { keptBy, superfluous } from './retention.ts';

async function ready(t: Parameters<typeof bench>[0]): Promise<Bench> {
  const on = await bench(t);
  await on.client.setUp();
  const disks = [1, 2, 3, 4].map((n) => `scsi-0QEMU_QEMU_HARDDISK_data${n}`);
  const { body } = await on.client.post('/api/pools', { name: 'tank', layout: 'mirror', disks, telemetry: true });
  await finished(on, body.id);
  await on.client.post('/api/datasets', { name: 'tank/a', kind: 'filesystem', properties: { mountpoint: '/srv/a' } });
  await write(on, 'one.txt', 100_000, 'one\n');
  return on;
}

const write = (on: Bench, path: string, bytes: number, text: string, dataset = 'tank/a') =>
  on.client.post('/internal/sim/dataset-write', { dataset, path, bytes, text });
const finished = ({ client }: Bench, id: string) =>
  eventually(async () => {
    const { body } = await client.get(`/api/jobs/${id}`);
    assert.notEqual(body.state, 'running');
    return body;
  });
const take = (on: Bench, name: string, dataset = 'tank/a') =>
  on.client.post('/api/snapshots', { datasets: [dataset], name, recursive: false });
const of = (name: string, rest = '') => `/api/snapshots/${encodeURIComponent(name)}${rest}`;
const list = async (on: Bench, dataset: string) =>
  (await on.client.get(`/api/snapshots?limit=1000&sort=created&order=up&dataset=${encodeURIComponent(dataset)}`)).body
    .items;
const own = async (on: Bench, dataset = 'tank/a') =>
  (await list(on, dataset)).map((one: { snapshot: string }) => one.snapshot);

test('snapshots are taken, held, cloned, and destroyed only when nothing needs them', async (t) => {
  const on = await ready(t);
  for (const name of ['s1', 's2', 's3']) {
    assert.equal((await take(on, name)).status, 201);
    on.clock.advance(60);
  }
  assert.equal((await take(on, 's1')).status, 409);
  assert.equal((await take(on, 'cistern-x')).body.errors[0].path, '/name');
  assert.equal((await take(on, 'a@b')).body.errors[0].path, '/name');
  assert.equal((await take(on, 's1', 'tank/none')).status, 404);
  assert.equal((await on.client.post('/api/snapshots/hold', { names: ['tank/a@s1'], tag: 'audit' })).status, 204);
  const held = (await on.client.get(of('tank/a@s1'))).body;
  assert.deepEqual(
    held.heldBy.map(({ tag }: { tag: string }) => tag),
    ['audit'],
  );
  assert.equal((await on.client.post(of('tank/a@s2', '/clone'), { name: 'tank/copy' })).status, 204);
  assert.equal((await on.client.post(of('tank/a@s2', '/clone'), { name: 'tank/copy' })).body.errors[0].path, '/name');
  const gone = await on.client.post('/api/snapshots/destroy', { names: ['tank/a@s1', 'tank/a@s2', 'tank/a@s3'] });
  assert.deepEqual(gone.body.destroyed, ['tank/a@s3']);
  assert.deepEqual(
    gone.body.refused.map(({ name }: { name: string }) => name),
    ['tank/a@s1', 'tank/a@s2'],
  );
  const hinder = (await on.client.get('/api/datasets/tank%2Fa/destroy-preview')).body;
  assert.deepEqual(
    hinder.items.map(({ message }: { message: string }) => message),
    ['has 1 hold', 'is the origin of the clone “tank/copy”'],
  );
  const kept = await on.client.request('DELETE', '/api/datasets/tank%2Fa', { confirm: 'tank/a', recursive: true });
  assert.deepEqual([kept.status, kept.body.errors.length], [409, 2]);
  assert.equal((await on.client.post('/api/snapshots/release', { names: ['tank/a@s1'], tag: 'audit' })).status, 204);
  assert.equal((await on.client.post(of('tank/a@s1', '/rename'), { to: 'first' })).body.snapshot, 'first');
  assert.deepEqual(await own(on), ['first', 's2']);
});

test('a rollback says what would be lost, and keeps it', async (t) => {
  const on = await ready(t);
  await take(on, 's1');
  on.clock.advance(3600);
  await write(on, 'two.txt', 200_000, 'two\n');
  await take(on, 's2');
  on.clock.advance(3600);
  await write(on, 'two.txt', 300_000, 'three\n');
  const preview = (await on.client.get(of('tank/a@s1', '/rollback-preview'))).body;
  assert.deepEqual(
    preview.newer.map(({ name }: { name: string }) => name),
    ['tank/a@s2'],
  );
  assert.ok(preview.writtenSince > 100_000 && preview.newerBytes > 50_000, JSON.stringify(preview));
  assert.match(preview.sentence, /becomes what it was 2 hours ago.*and 1 newer snapshot are not in it any more\./);
  const back = (body: object) => on.client.post(of('tank/a@s1', '/rollback'), body);
  assert.equal((await back({ confirm: 'a', keep: true, destroyNewer: false })).body.errors[0].path, '/confirm');
  assert.equal((await back({ confirm: 'tank/a', keep: false, destroyNewer: false })).status, 409);
  const job = await finished(on, (await back({ confirm: 'tank/a', keep: true, destroyNewer: false })).body.id);
  assert.equal(job.state, 'done', JSON.stringify(job));
  assert.deepEqual(await own(on), ['s1']);
  const kept = await own(on, job.result.keptAs);
  assert.deepEqual([kept.length, kept[0]], [2, 's2']);
  assert.match(kept[1], /^cistern-before-rollback-/);
  assert.deepEqual(
    (await on.client.get(`/api/snapshots/${encodeURIComponent('tank/a@s1')}/files`)).body.items.length,
    1,
  );
  assert.equal((await on.client.get(`/api/snapshots/${encodeURIComponent('tank/a@s1')}/differences`)).body.total, 0);
});

test('a rollback that destroys is asked for, and never takes what is held', async (t) => {
  const on = await ready(t);
  for (const name of ['s1', 's2']) {
    await take(on, name);
    on.clock.advance(60);
  }
  await on.client.post('/api/snapshots/hold', { names: ['tank/a@s2'], tag: 'x' });
  const input = { confirm: 'tank/a', keep: false, destroyNewer: true };
  assert.match((await on.client.post(of('tank/a@s1', '/rollback'), input)).body.detail, /has 1 hold/);
  await on.client.post('/api/snapshots/release', { names: ['tank/a@s2'], tag: 'x' });
  const { body } = await on.client.post(of('tank/a@s1', '/rollback'), input);
  assert.deepEqual((await finished(on, body.id)).result.destroyed, ['tank/a@s2']);
  assert.equal((await on.client.get(of('system/state@x', '/rollback-preview'))).status, 404);
});

test('a snapshot is looked into, compared and read', async (t) => {
  const on = await ready(t);
  await write(on, 'logs/day one.log', 12, 'hello world\n');
  await take(on, 's1');
  on.clock.advance(60);
  await write(on, 'logs/day one.log', 0, '');
  await write(on, 'new.txt', 5, 'new\n');
  const s1 = of('tank/a@s1');
  const root = (await on.client.get(`${s1}/files`)).body;
  assert.deepEqual(
    root.items.map(({ name, kind }: { name: string; kind: string }) => [name, kind]),
    [
      ['logs', 'directory'],
      ['one.txt', 'file'],
    ],
  );
  const diff = (await on.client.get(`${s1}/differences?limit=1`)).body;
  assert.deepEqual([diff.total, diff.items[0].change, diff.items[0].path], [2, 'removed', 'logs/day one.log']);
  const next = (await on.client.get(`${s1}/differences?limit=1&offset=1`)).body;
  assert.equal(next.items[0].path, 'new.txt');
  for (const path of ['../etc/passwd', 'logs/../..', '/etc', 'a//b', '.']) {
    assert.equal((await on.client.get(`${s1}/files/content?path=${encodeURIComponent(path)}`)).status, 400, path);
  }
  const response = await on.appliance.app.inject({
    url: `${s1}/files/content?path=${encodeURIComponent('logs/day one.log')}`,
    headers: {
      cookie: [...on.client.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
      'x-forwarded-for': on.client.address,
    },
  });
  assert.equal(response.body, 'hello world\n');
  assert.equal(response.headers['content-disposition'], "attachment; filename*=UTF-8''day%20one.log");
  assert.equal(response.headers['content-security-policy'], 'sandbox');
});

const daily = {
  dataset: 'tank',
  recursive: true,
  schedule: { every: 'hour', at: '00:00' },
  keep: { frequent: 2, hourly: 0, daily: 2, weekly: 0, monthly: 0 },
  enabled: true,
};

async function tick(on: Bench, seconds: number): Promise<void> {
  on.clock.advance(seconds);
  on.appliance.timetable.tick();
  await on.appliance.timetable.settled();
  // A session does not last for days.
  await on.client.post('/api/session', { user: 'ada', password: PASSWORD });
}

test('a schedule takes all of one moment at once, keeps so many, and makes up once for what it missed', async (t) => {
  const on = await ready(t);
  const { body: schedule, status } = await on.client.post('/api/snapshot-schedules', daily);
  assert.equal(status, 201, JSON.stringify(schedule));
  assert.equal(schedule.words, 'every hour; keeps the newest 2, and one of each of 2 days');
  assert.equal(schedule.nextRun, '2026-01-01T01:00:00.000Z');
  on.appliance.timetable.tick();
  await tick(on, 3600);
  const taken = await list(on, 'tank/a');
  assert.equal(taken.length, 1);
  assert.match(taken[0].snapshot, /^cistern-2026-01-01T01\.00\.00Z-[0-9a-f]{6}$/);
  assert.equal(taken[0].schedule, schedule.id);
  const elsewhere = (await list(on, 'tank/telemetry'))[0];
  assert.deepEqual([elsewhere.snapshot, elsewhere.createdAt], [taken[0].snapshot, taken[0].createdAt]);
  await take(on, 'mine');
  await on.client.post('/api/snapshots/hold', { names: [taken[0].name], tag: 'keep' });
  // Five days without akd: one snapshot, not a hundred and twenty.
  await tick(on, 5 * 86_400);
  await tick(on, 1);
  assert.equal((await own(on)).length, 3);
  for (let hour = 0; hour < 30; hour++) await tick(on, 3600);
  const left = await list(on, 'tank/a');
  assert.equal(left.length, 2 + 1 + 2, JSON.stringify(left.map((one: { name: string }) => one.name)));
  assert.deepEqual([left[0].name, left[1].snapshot], [taken[0].name, 'mine']);
  const [listed] = (await on.client.get('/api/snapshot-schedules?dataset=tank/a')).body.items;
  assert.deepEqual([listed.id, listed.lastRun.error], [schedule.id, null]);
});

test('a schedule that fails says why, and an alert does', async (t) => {
  const on = await ready(t);
  const input = { ...daily, dataset: 'tank/a' };
  const { body: schedule } = await on.client.post('/api/snapshot-schedules', input);
  await on.client.post('/api/datasets/tank%2Fa/rename', { to: 'tank/b' });
  assert.equal((await on.client.get('/api/snapshot-schedules')).body.items[0].dataset, 'tank/b');
  // Behind akd's back.
  await on.simulation.datasets.destroy('tank/b', true);
  on.appliance.timetable.tick();
  await tick(on, 3600);
  const [listed] = (await on.client.get('/api/snapshot-schedules')).body.items;
  assert.match(listed.lastRun.error, /no dataset “tank\/b”/);
  await on.client.post('/internal/sim/slow', { milliseconds: 0 });
  const alerts = async () => (await on.client.get('/api/alerts?state=active')).body.items;
  assert.match((await alerts())[0].text, /scheduled snapshot of “tank\/b”.*no dataset/);
  assert.equal((await on.client.delete(`/api/snapshot-schedules/${schedule.id}`)).status, 204);
  await on.client.post('/internal/sim/slow', { milliseconds: 0 });
  assert.deepEqual(await alerts(), []);
});

test('a schedule that makes no sense is refused', async (t) => {
  const on = await ready(t);
  const none = { frequent: 0, hourly: 0, daily: 0, weekly: 0, monthly: 0 };
  const post = async (change: object) =>
    (await on.client.post('/api/snapshot-schedules', { ...daily, ...change })).body;
  assert.equal((await post({ keep: none })).errors[0].path, '/keep');
  assert.equal((await post({ dataset: 'tank/none' })).errors[0].path, '/dataset');
  assert.equal((await post({ dataset: 'system/state' })).errors[0].path, '/dataset');
  assert.equal((await post({ schedule: { every: 'minutes', minutes: 7 } })).errors[0].path, '/schedule/minutes');
});

test('a safety snapshot is taken before what is risky, and says before what', async (t) => {
  const on = await ready(t);
  const [name] = await on.appliance.snapshots.safetySnapshot(['tank/a', 'tank/telemetry'], 'before the update to 9');
  const found = (await list(on, 'tank/a'))[0];
  assert.deepEqual([found.name, found.reason], [name, 'before the update to 9']);
  await assert.rejects(on.appliance.snapshots.safetySnapshot(['tank/none'], 'x'), /no dataset/);
});

/** The same numbers for the same seed: a failure can be looked at. */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

test('retention never gives up what is held, cloned, replicated or a person’s, nor the newest; and keeps what it says', () => {
  for (let seed = 1; seed <= 200; seed++) {
    const roll = dice(seed);
    const zone = ['UTC', 'Europe/Berlin', 'America/St_Johns', 'Pacific/Apia'][roll(4)] as string;
    const start = Date.UTC(2026, roll(12), 1 + roll(28));
    const every = [900_000, 3_600_000, 86_400_000][roll(3)] as number;
    const all = Array.from({ length: 1 + roll(300) }, (_, index): PlatformSnapshot => {
      const mine = roll(10) > 0;
      return {
        name: `tank/a@${mine || roll(2) > 0 ? 'cistern-' : 'manual-'}${index}`,
        dataset: 'tank/a',
        used: 0,
        referenced: 0,
        createdAt: start + index * every,
        holds: roll(15) === 0 ? 1 : 0,
        clones: roll(20) === 0 ? ['tank/c'] : [],
        schedule: mine ? 'ss-1' : roll(2) > 0 ? 'ss-2' : null,
        reason: null,
        replication: roll(40) === 0,
      };
    });
    const shuffled = [...all].sort(() => roll(3) - 1);
    const keep = { frequent: roll(5), hourly: roll(30), daily: roll(10), weekly: roll(6), monthly: roll(4) };
    const gone = new Set(superfluous(shuffled, { id: 'ss-1', keep }, zone));
    const ours = all.filter(({ schedule, name }) => schedule === 'ss-1' && name.includes('@cistern-'));
    for (const one of all) {
      if (!gone.has(one.name)) continue;
      assert.equal(keptBy(one), null, `seed ${seed}: ${one.name}`);
      assert.ok(ours.includes(one), `seed ${seed}: ${one.name} is not the schedule's`);
    }
    const left = ours.filter(({ name }) => !gone.has(name));
    assert.ok(ours.length === 0 || left.includes(ours.at(-1) as PlatformSnapshot), `seed ${seed}: the newest`);
    for (const one of ours.slice(-Math.max(1, keep.frequent))) assert.ok(left.includes(one), `seed ${seed}: frequent`);
    const days = (some: readonly PlatformSnapshot[]) => [
      ...new Set(some.map(({ createdAt }) => new Date(createdAt).toLocaleDateString('en-CA', { timeZone: zone }))),
    ];
    for (const day of days(ours)
      .sort()
      .slice(-keep.daily || Number.POSITIVE_INFINITY)) {
      assert.ok(days(left).includes(day), `seed ${seed}: the day ${day}`);
    }
    const most = Math.max(1, keep.frequent) + keep.hourly + keep.daily + keep.weekly + keep.monthly;
    assert.ok(left.filter((one) => keptBy(one) === null).length <= most, `seed ${seed}: too many are kept`);
    // What is left is enough for itself: nothing more goes when it is asked again.
    assert.deepEqual(
      superfluous(
        all.filter(({ name }) => !gone.has(name)),
        { id: 'ss-1', keep },
        zone,
      ),
      [],
    );
  }
});
