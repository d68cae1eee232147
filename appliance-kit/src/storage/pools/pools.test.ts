import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Bench, bench, eventually } from '../../../tests/harness.ts';
import { poolNameProblem } from './names.ts';

const disk = (name: string) => `scsi-0QEMU_QEMU_HARDDISK_${name}`;
const four = ['data1', 'data2', 'data3', 'data4'].map(disk);
const tank = { name: 'tank', layout: 'mirror', disks: four, telemetry: true };

async function ready(t: Parameters<typeof bench>[0], options?: Parameters<typeof bench>[1]): Promise<Bench> {
  const made = await bench(t, options);
  await made.client.setUp();
  return made;
}

async function finished({ client }: Bench, id: string) {
  return eventually(async () => {
    const { body } = await client.get(`/api/jobs/${id}`);
    assert.notEqual(body.state, 'running');
    return body;
  });
}

const simulate = ({ client }: Bench, what: string, args: object) => client.post(`/internal/sim/${what}`, args);
const poolNames = async ({ client }: Bench) =>
  (await client.get('/api/pools')).body.items.map((pool: { name: string }) => pool.name);

test('a pool of two mirrors out of four disks, with the telemetry store on it', async (t) => {
  const on = await ready(t);
  const { status, body } = await on.client.post('/api/pools', tank);
  assert.equal(status, 202);
  const job = await finished(on, body.id);
  assert.equal(job.state, 'done', JSON.stringify(job));
  assert.deepEqual(job.result, { pool: 'tank' });
  assert.equal(job.percent, 100);
  const pool = (await on.client.get('/api/pools/tank')).body;
  assert.deepEqual([pool.state, pool.telemetry, pool.compression], ['ONLINE', true, 'lz4']);
  assert.deepEqual(
    pool.vdevs.map((vdev: { type: string; children: unknown[] }) => [vdev.type, vdev.children.length]),
    [
      ['mirror', 2],
      ['mirror', 2],
    ],
  );
  assert.match(pool.sentence, /^Healthy\. 4 disks in 2 mirrors, 0 % full\.$/);
  const { items } = (await on.client.get('/api/disks')).body;
  const first = items.find((one: { id: string }) => one.id === four[0]);
  assert.deepEqual([first.state, first.pool, first.vdev], ['in_pool', 'tank', 'mirror-0']);
  assert.equal(items[0].state, 'system');
});

test('a pool with a spare, a mirrored log and a cache is made in one piece; each disk has one part to play', async (t) => {
  const on = await ready(t);
  for (const name of ['data5', 'data6', 'data7', 'data8']) {
    await simulate(on, 'disk-add', { name, bytes: 2 * 1024 ** 3 });
  }
  const beside = [
    { kind: 'log', layout: 'mirror', disks: [disk('data5'), disk('data6')] },
    { kind: 'spare', layout: 'stripe', disks: [disk('data7')] },
    { kind: 'cache', layout: 'stripe', disks: [disk('data8')] },
  ];
  const twice = await on.client.post('/api/pools', {
    ...tank,
    beside: [{ ...beside[1], disks: [four[0] as string] }],
  });
  assert.deepEqual(
    [twice.status, twice.body.errors],
    [400, [{ path: '/beside/0/disks', message: 'names a disk twice' }]],
  );
  for (const [one, path, words] of [
    [
      { kind: 'spare', layout: 'mirror', disks: [disk('data5'), disk('data6')] },
      '/beside/0/layout',
      /stands for itself/,
    ],
    [{ kind: 'special', layout: 'stripe', disks: [disk('data5')] }, '/beside/0/layout', /without a second copy/],
    [
      { kind: 'log', layout: 'raidz1', disks: ['data5', 'data6', 'data7'].map(disk) },
      '/beside/0/layout',
      /is a mirror/,
    ],
  ] as const) {
    const { status, body } = await on.client.post('/api/pools', { ...tank, beside: [one] });
    assert.deepEqual([status, body.errors[0].path], [400, path], JSON.stringify(body));
    assert.match(body.detail, words);
  }
  const { body } = await on.client.post('/api/pools', { ...tank, beside });
  assert.match(body.title, /8 disks/);
  assert.equal((await finished(on, body.id)).state, 'done');
  const pool = (await on.client.get('/api/pools/tank')).body;
  const kinds = pool.vdevs.map(({ type }: { type: string }) => type);
  for (const kind of ['log', 'spare', 'cache'])
    assert.ok(
      kinds.some((one: string) => one.startsWith(kind)),
      `${kinds}`,
    );
});

test('a disk that cannot be used is named, with why and what to do; nothing is begun', async (t) => {
  const on = await ready(t);
  await simulate(on, 'disk-occupy', { disk: 'data1', occupant: 'It carries an ext4 file system named “old”.' });
  await simulate(on, 'disk-add', { name: 'tiny', bytes: 100_000_000 });
  await simulate(on, 'disk-remove', { disk: 'data4' });
  const cases: [string, string[]][] = [
    ['disk_in_use', [disk('data1'), disk('data2')]],
    ['disk_in_use', [disk('system0'), disk('data2')]],
    ['disk_too_small', [disk('tiny'), disk('data2')]],
    ['disk_missing', [disk('data4'), disk('data2')]],
    ['disk_missing', ['no-such-disk', disk('data2')]],
  ];
  for (const [code, disks] of cases) {
    const { body } = await on.client.post('/api/pools', { ...tank, disks });
    assert.equal(body.code, code, JSON.stringify(body));
    assert.ok(body.detail.includes((disks[0] as string).split('_').at(-1)), body.detail);
    assert.match(body.action, /disk/);
  }
  assert.deepEqual((await on.client.get('/api/jobs')).body.items, []);
  assert.deepEqual(await poolNames(on), ['system']);
});

test('a disk that vanishes while the pool is made: the job says which, and no half-made pool stays', async (t) => {
  const on = await ready(t);
  await simulate(on, 'vanish-during-creation', { disk: 'data3' });
  const { body } = await on.client.post('/api/pools', tank);
  const job = await finished(on, body.id);
  assert.equal(job.state, 'failed');
  assert.equal(job.error.code, 'disk_missing');
  assert.match(job.error.detail, /data3/);
  assert.deepEqual(await poolNames(on), ['system']);
  const two = await on.client.post('/api/pools', { ...tank, disks: four.slice(0, 2) });
  assert.equal((await finished(on, two.body.id)).state, 'done', 'and the others can be used at once');
});

test('names, layouts and repetitions that will not do', async (t) => {
  const on = await ready(t);
  const code = async (change: object) => (await on.client.post('/api/pools', { ...tank, ...change })).body.code;
  assert.equal(await code({ name: 'system' }), 'pool_exists');
  assert.equal(await code({ name: 'mirror1' }), 'invalid_request');
  assert.equal(await code({ layout: 'raidz3' }), 'invalid_request');
  assert.equal(await code({ layout: 'mirror', disks: four.slice(0, 1) }), 'invalid_request');
  assert.equal(await code({ disks: [four[0], four[0]] }), 'invalid_request');
  assert.equal(await code({ disks: [] }), 'invalid_request');
  assert.equal(await code({ layout: 'raid5' }), 'invalid_request');
  for (const [name, ok] of [
    ['tank', true],
    ['Tank-1_a.b:c', true],
    ['1tank', false],
    ['raidz', false],
    ['sparepool', false],
    ['c0', false],
    ['a b', false],
    ['', false],
    ['log', false],
  ] as const) {
    assert.equal(poolNameProblem(name) === null, ok, name);
  }
});

test('two pools at the same time: the second has to wait', async (t) => {
  const on = await ready(t, { stepMs: 100 });
  const make = (name: string, disks: string[]) => on.client.post('/api/pools', { ...tank, name, disks });
  const answers = await Promise.all([make('one', four.slice(0, 2)), make('two', four.slice(2))]);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [202, 409]);
});

test('telemetry on the system pool, for a machine with one disk', async (t) => {
  const on = await ready(t);
  const { body } = await on.client.post('/api/pools/system/place-telemetry');
  const job = await finished(on, body.id);
  assert.equal(job.state, 'done');
  assert.match(job.log[0].text, /without a second copy/);
  assert.equal((await on.client.get('/api/pools/system')).body.telemetry, true);
});

test('a page never waits for a disk that hangs: it gets what was known, and how old that is', async (t) => {
  const on = await ready(t);
  await on.client.get('/api/disks');
  await on.simulation.simulate('slow', { milliseconds: 60_000 });
  on.clock.advance(60);
  const began = Date.now();
  const { body } = await on.client.get('/api/disks');
  assert.ok(Date.now() - began < 4_000);
  assert.equal(body.items.length, 5);
  assert.ok(body.ageSeconds >= 60, String(body.ageSeconds));
});

test('advice: mirrors first, each layout with its reason', async (t) => {
  const on = await ready(t);
  const ask = async (names: string[]) =>
    (await on.client.get(`/api/layout-advice?${names.map((name) => `disk=${disk(name)}`).join('&')}`)).body;
  const allowed = (advice: { layouts: { id: string; allowed: boolean }[] }) =>
    advice.layouts.filter((layout) => layout.allowed).map(({ id }) => id);

  const none = (await on.client.get('/api/layout-advice')).body;
  assert.deepEqual([none.recommended, allowed(none)], ['', []]);
  const one = await ask(['data1']);
  assert.deepEqual([one.recommended, allowed(one)], ['', ['stripe']]);
  assert.match(one.warnings[0], /no second copy/);
  const four = await ask(['data1', 'data2', 'data3', 'data4']);
  assert.equal(four.recommended, 'mirror');
  assert.deepEqual(allowed(four), ['mirror', 'raidz1', 'raidz2', 'stripe']);
  assert.equal(four.layouts[0].usableBytes, Math.floor(2 * 2 ** 31 * 0.96));
  for (const layout of four.layouts) assert.equal(layout.allowed, layout.reason === null);

  const three = await ask(['data1', 'data2', 'data3']);
  assert.deepEqual(
    three.layouts[0].vdevs.map((vdev: { disks: string[] }) => vdev.disks.length),
    [3],
  );
  assert.match(three.warnings.join(), /odd/);

  await simulate(on, 'disk-add', { name: 'big1', bytes: 8 * 2 ** 30 });
  await simulate(on, 'disk-add', { name: 'big2', bytes: 8 * 2 ** 30 });
  const mixed = await ask(['big1', 'data1', 'big2', 'data2']);
  assert.match(mixed.warnings.join(), /differ in size \(2 GiB to 8 GiB\)/);
  const pairs = mixed.layouts[0].vdevs.map((vdev: { disks: string[] }) => vdev.disks.map((id) => id.split('_').at(-1)));
  assert.deepEqual(
    pairs,
    [
      ['data1', 'data2'],
      ['big1', 'big2'],
    ],
    'disks of one size side by side',
  );
});

test('a pool that degrades raises an alert, and clears it when it is well', async (t) => {
  const on = await ready(t);
  await finished(on, (await on.client.post('/api/pools', tank)).body.id);
  await simulate(on, 'disk-remove', { disk: 'data2' });
  const [alert] = (await on.client.get('/api/alerts')).body.items;
  assert.equal(alert.class, 'pool.degraded');
  assert.match(alert.text, /data2 was removed; data is safe/);
  await simulate(on, 'disk-remove', { disk: 'data1' });
  const now = (await on.client.get('/api/alerts')).body.items.map((one: { class: string }) => one.class);
  assert.deepEqual(now, ['pool.suspended'], 'the worse state replaces the milder one');
  const status = (await on.client.get('/api/status')).body;
  assert.equal(status.severity, 'critical');
  await simulate(on, 'pool-heal', { pool: 'tank' });
  assert.deepEqual((await on.client.get('/api/alerts')).body.items, []);
  assert.equal((await on.client.get('/api/alerts?state=all')).body.items.length, 2);
});
