import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Bench, bench, eventually } from '../../../tests/harness.ts';
import { datasetNameProblem, partProblem, snapshotNameProblem } from './names.ts';
import { byPath } from './tree.ts';

const GIB = 2 ** 30;

/** An appliance with a pool `tank` of two mirrors. */
export async function withPool(t: Parameters<typeof bench>[0], telemetry = true): Promise<Bench> {
  const on = await bench(t);
  await on.client.setUp();
  const disks = [1, 2, 3, 4].map((n) => `scsi-0QEMU_QEMU_HARDDISK_data${n}`);
  const { body } = await on.client.post('/api/pools', { name: 'tank', layout: 'mirror', disks, telemetry });
  await eventually(async () => assert.equal((await on.client.get(`/api/jobs/${body.id}`)).body.state, 'done'));
  await on.client.post('/internal/sim/dataset-write', { dataset: 'tank', path: 'x', bytes: 0 });
  return on;
}

const at = (name: string, rest = '') => `/api/datasets/${encodeURIComponent(name)}${rest}`;
const home = { name: 'tank/home', kind: 'filesystem', properties: { mountpoint: '/srv/home', compression: 'zstd-3' } };
const remove = (on: Bench, name: string, recursive = false, confirm = name) =>
  on.client.request('DELETE', at(name), { confirm, recursive });
const names = async (on: Bench, query = '') =>
  (await on.client.get(`/api/datasets${query}`)).body.items.map((one: { name: string }) => one.name);

test('a dataset is made, changed, reset, renamed and destroyed', async (t) => {
  const on = await withPool(t);
  const made = await on.client.post('/api/datasets', home);
  assert.equal(made.status, 201, JSON.stringify(made.body));
  assert.deepEqual([made.body.mounted, made.body.compression, made.body.depth], [true, 'zstd-3', 1]);
  assert.match(made.body.sentence, /^96 KiB used, .* left, compressed .* with zstd-3\. There is no snapshot of it\.$/);
  await on.client.post('/api/datasets', { name: 'tank/home/ada', kind: 'filesystem' });
  const property = async (name: string, wanted: string) =>
    (await on.client.get(at(name))).body.properties.find((one: { name: string }) => one.name === wanted);
  const inherited = await property('tank/home/ada', 'compression');
  assert.deepEqual([inherited.value, inherited.source, inherited.from], ['zstd-3', 'inherited', 'tank/home']);
  assert.equal((await on.client.get(at('tank/home/ada'))).body.mountpoint, '/srv/home/ada');
  await on.client.put(at('tank/home/ada'), { set: { compression: 'off', quota: String(GIB) } });
  assert.deepEqual((await property('tank/home/ada', 'compression')).source, 'local');
  const quota = (await on.client.get(at('tank/home/ada'))).body.quota;
  assert.deepEqual([quota.bytes, quota.used], [GIB, 98_304]);
  const back = await on.client.put(at('tank/home/ada'), { inherit: ['compression'], set: { quota: 'none' } });
  assert.equal(back.body.quota, null);
  assert.equal((await property('tank/home/ada', 'compression')).source, 'inherited');
  const renamed = await on.client.post(at('tank/home', '/rename'), { to: 'tank/people' });
  assert.equal(renamed.body.name, 'tank/people');
  assert.deepEqual(await names(on, '?under=tank/people'), ['tank/people', 'tank/people/ada']);

  assert.equal((await remove(on, 'tank/people')).body.code, 'conflict');
  assert.equal((await remove(on, 'tank/people', true, 'people')).body.errors[0].path, '/confirm');
  const preview = (await on.client.get(at('tank/people', '/destroy-preview'))).body;
  assert.deepEqual([preview.datasets, preview.snapshots, preview.refused, preview.items], [1, 0, null, []]);
  assert.equal((await remove(on, 'tank/people', true)).status, 204);
  assert.deepEqual(await names(on, '?under=tank/people'), []);
  const { items } = (await on.client.get('/api/audit-log')).body;
  const actions = items.map((one: { action: string }) => one.action);
  for (const action of ['dataset.create', 'dataset.update', 'dataset.rename', 'dataset.destroy']) {
    assert.ok(actions.includes(action), action);
  }
});

test('what cannot be is refused with the field and the reason', async (t) => {
  const on = await withPool(t);
  await on.client.post('/api/datasets', home);
  const cases: [object, string][] = [
    [{ ...home, name: 'tank' }, '/name'],
    [{ ...home, name: 'tank/a@b' }, '/name'],
    [{ ...home, name: 'tank/none/deep' }, '/name'],
    [{ ...home }, '/name'],
    [{ ...home, name: 'tank/b' }, '/properties/mountpoint'],
    [{ name: 'tank/b', kind: 'filesystem', properties: { mountpoint: '/etc' } }, '/properties/mountpoint'],
    [{ name: 'tank/b', kind: 'filesystem', properties: { recordsize: '1000' } }, '/properties/recordsize'],
    [{ name: 'tank/b', kind: 'filesystem', properties: { sharenfs: 'on' } }, '/properties/sharenfs'],
    [{ name: 'tank/b', kind: 'filesystem', volumeBytes: GIB }, '/volumeBytes'],
    [{ name: 'tank/b', kind: 'volume' }, '/volumeBytes'],
    [{ name: 'tank/b', kind: 'filesystem', encryption: { format: 'passphrase' } }, '/encryption/passphrase'],
  ];
  for (const [body, path] of cases) {
    const answer = await on.client.post('/api/datasets', body);
    assert.equal(answer.body.errors?.[0]?.path, path, JSON.stringify([body, answer.body]));
  }
  assert.equal((await on.client.post('/api/datasets', { ...home, name: 'system/x' })).status, 409);
  assert.equal((await remove(on, 'tank/telemetry', true)).status, 409);
  assert.equal((await remove(on, 'tank', true)).status, 409);
  assert.equal((await remove(on, 'system/state', true)).status, 409);
  const moved = await on.client.put(at('tank/telemetry'), { set: { mountpoint: '/srv/x' } });
  assert.match(moved.body.detail, /measurements/);
  assert.equal((await on.client.get(at('tank/none'))).status, 404);
  const small = await on.client.post('/api/datasets', { name: 'tank/v', kind: 'volume', volumeBytes: 100 * GIB });
  assert.equal(small.body.code, 'out_of_space');
});

test('pages are filtered, sorted and cut on the appliance', async (t) => {
  const on = await withPool(t, false);
  await on.client.post('/internal/sim/dataset-generate', { pool: 'tank', datasets: 40, snapshots: 400 });
  const first = (await on.client.get('/api/datasets?limit=10&under=tank')).body;
  assert.deepEqual([first.total, first.items.length, first.items[0].name], [41, 10, 'tank']);
  assert.deepEqual(
    first.items.map((one: { name: string }) => one.name),
    [...first.items.map((one: { name: string }) => one.name)].sort(byPath),
  );
  const rest = (await on.client.get('/api/datasets?limit=10&offset=40&under=tank')).body;
  assert.equal(rest.items.length, 1);
  const largest = (await on.client.get('/api/datasets?limit=3&sort=used&search=DATA')).body.items;
  assert.ok(largest[0].used >= largest[1].used && largest[1].used >= largest[2].used);
  assert.ok(largest.every((one: { name: string }) => one.name.includes('data')));
  const snapshots = (await on.client.get('/api/snapshots?limit=5')).body;
  assert.equal(snapshots.total, 400);
  assert.ok(snapshots.items[0].createdAt >= snapshots.items[4].createdAt);
  const of = (await on.client.get('/api/snapshots?dataset=tank/bench000&sort=name&limit=100')).body;
  assert.equal(of.total, 10);
  assert.equal((await on.client.get('/api/datasets?limit=0')).status, 400);
});

test('a passphrase is never written down, and opens the dataset again', async (t) => {
  const on = await withPool(t);
  const encryption = { format: 'passphrase', passphrase: 'correct horse' };
  const made = await on.client.post('/api/datasets', { ...home, encryption });
  assert.deepEqual([made.body.encrypted, made.body.keyStatus, made.body.keyFormat], [true, 'available', 'passphrase']);
  const locked = await on.client.post(at('tank/home', '/unload-key'));
  assert.deepEqual([locked.body.keyStatus, locked.body.mounted, locked.body.state], ['unavailable', false, 'warning']);
  const wrong = await on.client.post(at('tank/home', '/load-key'), { passphrase: 'wrong horse' });
  assert.equal(wrong.body.code, 'wrong_key');
  const open = await on.client.post(at('tank/home', '/load-key'), { passphrase: 'correct horse' });
  assert.deepEqual([open.body.keyStatus, open.body.mounted], ['available', true]);
  const changed = await on.client.post(at('tank/home', '/change-key'), {
    encryption: { format: 'keyFile' },
  });
  assert.equal(changed.body.keyFormat, 'keyFile');
  assert.ok(!JSON.stringify((await on.client.get('/api/audit-log')).body).includes('horse'));
  assert.equal((await on.client.post(at('tank', '/unload-key'))).status, 409);
});

test('a quota that is nearly reached and a key that is not loaded raise alerts, and clear them', async (t) => {
  const on = await withPool(t);
  const encryption = { format: 'passphrase', passphrase: 'correct horse' };
  await on.client.post('/api/datasets', { ...home, encryption });
  await on.client.put(at('tank/home'), { set: { quota: String(2 ** 20), compression: 'off' } });
  const active = async () =>
    (await on.client.get('/api/alerts?state=active')).body.items.map((one: { class: string }) => one.class).sort();
  const write = (bytes: number) =>
    on.client.post('/internal/sim/dataset-write', { dataset: 'tank/home', path: 'a', bytes, text: 'a' });
  await write(900_000);
  assert.deepEqual(await active(), ['dataset.full']);
  await write(830_000);
  assert.deepEqual(await active(), ['dataset.full'], 'just below the edge');
  await on.client.post(at('tank/home', '/unload-key'));
  await write(100_000);
  assert.deepEqual(await active(), ['dataset.locked']);
  await on.client.post(at('tank/home', '/load-key'), { passphrase: 'correct horse' });
  await write(100_001);
  assert.deepEqual(await active(), []);
});

test('names are held against ZFS’ rules', () => {
  for (const good of ['tank', 'tank/a b', 'tank/a-b_c.d:e', 'T/1']) assert.equal(datasetNameProblem(good), null, good);
  const long = `tank/${'x'.repeat(251)}`;
  for (const bad of ['', 'tank/', '/tank', '1tank', 'tank/ä', 'tank/a@b', 'tank/..', 'tank/ a', long]) {
    assert.notEqual(datasetNameProblem(bad), null, bad);
  }
  assert.equal(snapshotNameProblem('tank@a'), null);
  for (const bad of ['tank', 'tank@', 'tank@a@b', 'tank@a/b', 'tank@a,b']) {
    assert.notEqual(snapshotNameProblem(bad), null, bad);
  }
  assert.equal(partProblem('%recv'), 'holds “%”; letters, digits, "-", "_", ".", ":" and spaces may be used');
});

test('every compression of the platform has its words', async (t) => {
  const on = await bench(t);
  await on.client.setUp();
  const { items } = (await on.client.get('/api/dataset-compressions')).body;
  assert.ok(items.some((one: { name: string }) => one.name === 'zstd-19'));
  for (const { benefit, cost } of items) for (const words of [benefit, cost]) assert.match(words, /^\S.*\.$/);
});
