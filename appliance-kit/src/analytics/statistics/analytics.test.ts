import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Bench, bench, Client } from '../../../tests/harness.ts';
import { StandIn } from '../../../tests/tracerd.ts';

async function withTracerd(t: TestContext): Promise<Bench & { tracerd: StandIn }> {
  const made = await bench(t);
  mkdirSync(join(made.directory, 'run', 'tracerd'), { recursive: true });
  const tracerd = new StandIn({ socket: join(made.directory, 'run', 'tracerd', 'http.sock') });
  await tracerd.start();
  t.after(() => tracerd.stop());
  await made.client.setUp();
  return { ...made, tracerd };
}

const of = (name: string) => `/api/statistic-datasets/${encodeURIComponent(name)}`;

/** Somebody with a token of that role. */
async function as(b: Bench, role: string) {
  const { body } = await b.client.post('/api/tokens', { name: role, role });
  const headers = { authorization: `Bearer ${body.token}` };
  const client = new Client(b.appliance);
  return {
    get: (path: string) => client.get(path, { headers }),
    post: (path: string, body?: unknown) => client.post(path, body, { headers }),
    put: (path: string, body?: unknown) => client.put(path, body, { headers }),
    delete: (path: string) => client.delete(path, { headers }),
  };
}

test('the catalogue and a dataset come from tracerd, names with brackets and quotes unharmed', async (t) => {
  const { client } = await withTracerd(t);
  const { items } = (await client.get('/api/statistics')).body;
  assert.ok(items.some(({ name }: { name: string }) => name === 'io.ops'));
  const name = 'io.ops[process="a \\"b\\"]&x=1"][disk]';
  const watched = await client.post(`${of(name)}/watch`);
  assert.equal(watched.body.watched, true);
  assert.deepEqual(watched.body.filters, [['process', 'a "b"]&x=1']]);
  const read = await client.get(of(watched.body.name));
  assert.equal(read.body.name, watched.body.name);
  const odd = 'io.ops[process="100%2F/../é?#"]';
  assert.deepEqual((await client.post(`${of(odd)}/watch`)).body.filters, [['process', '100%2F/../é?#']]);
  assert.equal((await client.get('/api/statistic-datasets')).body.items.length, 2);
  const { body } = await client.get(`${of('cpu.profile')}/stacks?seconds=30`);
  assert.equal(body.samples, 1000);
});

test('what is stored of a dataset is told with it; without storaged it is not known, and the rest is', async (t) => {
  const { client, directory } = await withTracerd(t);
  await client.post(`${of('io.ops[disk]')}/watch`);
  const size = async () => (await client.get('/api/statistic-datasets')).body.items[0].size;
  assert.equal(await size(), null);
  let asked = '';
  let disk = 0;
  const store = createServer((request, response) => {
    asked = request.url ?? '';
    const one = { value: 'io.ops[disk]', series: 4, samples: disk && 1000, diskBytes: disk, memoryBytes: 64 };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ sizes: [one] }));
  });
  mkdirSync(join(directory, 'run', 'storaged'), { recursive: true });
  store.listen(join(directory, 'run', 'storaged', 'http.sock'));
  await once(store, 'listening');
  t.after(() => store.close());
  assert.deepEqual(await size(), { diskBytes: 0, memoryBytes: 64, bytesPerHour: null });
  assert.equal(asked, '/api/v1/sizes?label=dataset');
  disk = 2000;
  const { seriesNow } = (await client.get('/api/statistic-datasets')).body.items[0];
  assert.equal((await size()).bytesPerHour, 2 * 3600 * seriesNow);
});

test('a statistic that takes too much is an alert as long as it stands still; one that somebody suspended is none', async (t) => {
  const b = await withTracerd(t);
  const name = 'io.ops[disk]';
  await b.client.post(`${of(name)}/record`);
  const alerts = async (state: string) => {
    await b.appliance.poller.look();
    await b.appliance.poller.look();
    const { items } = (await b.client.get(`/api/alerts?state=${state}`)).body;
    return items.filter((one: { class: string }) => one.class === 'statistic.stopped');
  };
  await b.client.post(`${of(name)}/suspend`);
  await alerts('active');
  b.clock.advance(60);
  assert.deepEqual(await alerts('active'), []);
  await b.client.post(`${of(name)}/resume`);
  b.tracerd.exceedBudget(name);
  await alerts('active');
  b.clock.advance(60);
  const [alert] = await alerts('active');
  assert.equal(alert.title, 'The statistic io.ops[disk] was suspended');
  assert.equal(alert.labels.statistic, name);
  // What is not known ends no alert.
  await b.tracerd.stop();
  assert.equal((await alerts('active')).length, 1);
  await b.tracerd.start();
  await b.client.post(`${of(name)}/resume`);
  assert.deepEqual(await alerts('active'), []);
  assert.equal((await alerts('all')).length, 1);
});

test('what tracerd refuses is told in its words', async (t) => {
  const { client } = await withTracerd(t);
  const unknown = await client.post(`${of('io.opps')}/watch`);
  assert.equal(unknown.status, 404);
  assert.equal(unknown.body.code, 'unknown_statistic');
  assert.match(unknown.body.detail, /io\.ops/);
  const breakdown = await client.post(`${of('io.ops[colour]')}/watch`);
  assert.equal(breakdown.body.code, 'unknown_breakdown');
  assert.match(breakdown.body.detail, /latency/);
  assert.equal((await client.post(`${of('zfs.zil')}/watch`)).body.code, 'not_available');
});

test('a viewer watches what costs nothing or is recorded; the rest is an operator’s to begin', async (t) => {
  const b = await withTracerd(t);
  const [viewer, operator] = [await as(b, 'viewer'), await as(b, 'operator')];
  assert.equal((await viewer.post(`${of('net.bytes[device]')}/watch`)).status, 200);
  const refused = await viewer.post(`${of('io.ops[disk]')}/watch`);
  assert.equal(refused.status, 403);
  assert.match(refused.body.action, /operator/);
  assert.equal((await viewer.get(`${of('cpu.profile')}/stacks`)).status, 403);
  // What is merely being watched by somebody is not theirs to prolong.
  await operator.post(`${of('io.ops[disk]')}/watch`);
  assert.equal((await viewer.post(`${of('io.ops[disk]')}/watch`)).status, 403);
  await operator.post(`${of('io.ops[disk]')}/record`);
  assert.equal((await viewer.post(`${of('io.ops[disk]')}/watch`)).status, 200);
  for (const what of ['suspend', 'resume'])
    assert.equal((await viewer.post(`${of('io.ops[disk]')}/${what}`)).status, 403);
  assert.equal((await viewer.delete(of('io.ops[disk]'))).status, 403);
});

test('recording, suspending, resuming and destroying are written down; watching is not', async (t) => {
  const { client } = await withTracerd(t);
  const name = 'io.ops[disk]';
  await client.post(`${of(name)}/watch`);
  await client.post(`${of(name)}/record`);
  assert.equal((await client.post(`${of(name)}/suspend`)).body.state, 'suspended');
  assert.equal((await client.post(`${of(name)}/resume`)).body.state, 'recording');
  assert.equal((await client.delete(of(name))).status, 204);
  const { items } = (await client.get('/api/audit-log')).body;
  const written = items.filter(({ action }: { action: string }) => action.startsWith('statistic.'));
  assert.deepEqual(
    written.map(({ action, target, user }: Record<string, string>) => [action, target, user]),
    ['destroy', 'resume', 'suspend', 'record'].map((verb) => [`statistic.${verb}`, name, 'ada']),
  );
  // What was refused is not.
  assert.equal((await client.delete(of(name))).status, 404);
  assert.equal((await client.get('/api/audit-log')).body.items[0].action, 'statistic.destroy');
});

test('with tracerd down the problem says what it means, and everything else goes on', async (t) => {
  const { client, tracerd } = await withTracerd(t);
  await tracerd.stop();
  for (const path of ['/api/statistics', '/api/statistic-datasets', of('io.ops')]) {
    const { status, body } = await client.get(path);
    assert.equal(status, 503, path);
    assert.equal(body.code, 'service_unavailable');
    assert.match(body.detail, /not being measured: tracerd does not answer/);
  }
  assert.equal((await client.get('/api/worksheets')).status, 200);
  await tracerd.start();
  assert.equal((await client.get('/api/statistics')).status, 200);
});

test('marks: a change of the configuration and a snapshot; who signed in is no mark', async (t) => {
  const { client, clock } = await bench(t);
  await client.setUp();
  const { body: disks } = await client.get('/api/disks');
  void disks;
  clock.advance(60);
  const rule = {
    name: 'Busy',
    expression: 'up',
    direction: 'above',
    raise: 10,
    clear: 8,
    raiseForSeconds: 0,
    clearForSeconds: 0,
    repostSeconds: 0,
    severity: 'info',
    enabled: false,
    destinations: [],
  };
  await client.post('/api/thresholds', rule);
  const at = clock.now() / 1000;
  const { body } = await client.get(`/api/marks?from=${at - 10}&to=${at + 10}`);
  const changes = body.items.filter(({ kind }: { kind: string }) => kind === 'change');
  assert.equal(changes.length, 1);
  assert.deepEqual(
    [changes[0].title, changes[0].detail, changes[0].page],
    ['threshold create: Busy', 'by ada', '/alerts/thresholds'],
  );
  assert.equal((await client.get(`/api/marks?from=${at + 10}&to=${at}`)).status, 400);
  assert.equal((await client.get(`/api/marks?from=${at - 1000}&to=${at - 500}`)).body.items.length, 0);
});
