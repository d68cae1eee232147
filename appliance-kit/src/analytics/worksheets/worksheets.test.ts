import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bench, Client } from '../../../tests/harness.ts';
import { StandIn } from '../../../tests/tracerd.ts';

const input = {
  name: 'Mine',
  description: '',
  shared: false,
  rangeSeconds: 300,
  end: null,
  charts: [
    { id: 'a', statistic: 'io.ops[disk=sda][latency]', trim: 0.01, quantiles: [0.99] },
    { id: 'b', query: 'sum(rate(shop_orders[5s]))', title: 'Orders' },
  ],
  annotations: [{ time: '2026-01-01T00:00:00.000Z', text: 'the new disk', by: 'ada' }],
};

test('a worksheet is kept as it was made, over a restart too', async (t) => {
  const b = await bench(t);
  await b.client.setUp();
  const made = (await b.client.post('/api/worksheets', input)).body;
  assert.deepEqual([made.owner, made.ready, made.mayChange], ['ada', false, true]);
  const changed = (await b.client.put(`/api/worksheets/${made.id}`, { ...input, name: 'Ours', shared: true })).body;
  assert.equal(changed.name, 'Ours');
  const cookies = b.client.cookies;
  const { client } = await b.restart();
  for (const [name, value] of cookies) client.cookies.set(name, value);
  const { body } = await client.get(`/api/worksheets/${made.id}`);
  assert.deepEqual(body.charts, input.charts);
  assert.deepEqual(body.annotations, input.annotations);
  assert.equal((await client.delete(`/api/worksheets/${made.id}`)).status, 204);
  assert.equal((await client.get(`/api/worksheets/${made.id}`)).status, 404);
});

test('a private one is its owner’s alone; a shared one may be looked at', async (t) => {
  const { client, appliance } = await bench(t);
  await client.setUp();
  const tokens = await Promise.all(
    ['viewer', 'operator', 'administrator'].map(
      async (role) => (await client.post('/api/tokens', { name: role, role })).body.token,
    ),
  );
  const [viewer, operator, administrator] = tokens.map((token) => ({
    client: new Client(appliance),
    options: { headers: { authorization: `Bearer ${token}` } },
  })) as Other[] as [Other, Other, Other];
  type Other = { client: Client; options: { headers: Record<string, string> } };
  const { id } = (await viewer.client.post('/api/worksheets', input, viewer.options)).body;
  assert.equal((await operator.client.get(`/api/worksheets/${id}`, operator.options)).status, 404);
  const listed = (await operator.client.get('/api/worksheets', operator.options)).body.items;
  assert.ok(!listed.some((one: { id: string }) => one.id === id), 'not even its name is told');
  assert.equal((await administrator.client.get(`/api/worksheets/${id}`, administrator.options)).status, 200);
  await viewer.client.put(`/api/worksheets/${id}`, { ...input, shared: true }, viewer.options);
  const seen = await operator.client.get(`/api/worksheets/${id}`, operator.options);
  assert.equal(seen.body.mayChange, false);
  const refused = await operator.client.put(`/api/worksheets/${id}`, input, operator.options);
  assert.equal(refused.status, 403);
  assert.match(refused.body.detail, /belongs to token:viewer/);
  assert.equal((await operator.client.delete(`/api/worksheets/${id}`, operator.options)).status, 403);
});

test('the ready ones are there, and stay as they are', async (t) => {
  const { client } = await bench(t);
  await client.setUp();
  const { items } = (await client.get('/api/worksheets')).body;
  assert.deepEqual(
    items.map(({ name }: { name: string }) => name),
    ['What is this machine doing?', 'Disks', 'Network and clients', 'The telemetry store', 'People, not percentages'],
  );
  assert.equal((await client.put('/api/worksheets/disks', input)).body.code, 'conflict');
  assert.equal((await client.delete('/api/worksheets/disks')).body.code, 'conflict');
});

test('exported and imported: the same charts, private to who took it in', async (t) => {
  const { client } = await bench(t);
  await client.setUp();
  for (const id of ['people', (await client.post('/api/worksheets', { ...input, shared: true })).body.id]) {
    const file = (await client.get(`/api/worksheets/${id}/file`)).body;
    const taken = await client.post('/api/worksheets/import', file);
    assert.equal(taken.status, 201);
    assert.deepEqual(taken.body.charts, file.worksheet.charts);
    assert.deepEqual([taken.body.shared, taken.body.owner], [false, 'ada']);
  }
  const wrong = await client.post('/api/worksheets/import', { format: 'grafana', version: 9, worksheet: input });
  assert.equal(wrong.status, 400);
});

test('a chart draws one thing, under a name of its own', async (t) => {
  const { client } = await bench(t);
  await client.setUp();
  const charts = [{ id: 'a' }, { id: 'a', statistic: 'io.ops', query: 'up' }];
  const { status, body } = await client.post('/api/worksheets', { ...input, charts });
  assert.equal(status, 400);
  assert.deepEqual(
    body.errors.map(({ path }: { path: string }) => path),
    ['/charts/0', '/charts/1', '/charts/1/id'],
  );
});

test('suspended and resumed as a whole; what cannot be is told for each', async (t) => {
  const { client, directory } = await bench(t);
  mkdirSync(join(directory, 'run', 'tracerd'), { recursive: true });
  const tracerd = new StandIn({ socket: join(directory, 'run', 'tracerd', 'http.sock') });
  await tracerd.start();
  t.after(() => tracerd.stop());
  await client.setUp();
  const charts = [...input.charts, { id: 'c', statistic: 'zfs.zil' }];
  const { id } = (await client.post('/api/worksheets', { ...input, charts })).body;
  const { items } = (await client.post(`/api/worksheets/${id}/suspend`)).body;
  assert.deepEqual(
    items.map((one: { dataset: { state: string } | null; problem: { code: string } | null }) => [
      one.dataset?.state,
      one.problem?.code,
    ]),
    [
      ['suspended', undefined],
      [undefined, 'not_available'],
    ],
  );
  const resumed = (await client.post(`/api/worksheets/${id}/resume`)).body;
  assert.equal(resumed.items[0].dataset.state, 'stopped', 'nobody looks at it, and nobody has it recorded');
  const [last] = (await client.get('/api/audit-log')).body.items;
  assert.deepEqual([last.action, last.after], ['worksheet.resume', { statistics: ['io.ops[disk=sda][latency]'] }]);
});

test('one user fills the list for nobody else', async (t) => {
  const { client } = await bench(t);
  await client.setUp();
  for (let n = 0; n < 100; n += 1)
    assert.equal((await client.post('/api/worksheets', { ...input, name: `w${n}` })).status, 201);
  const one = await client.post('/api/worksheets', input);
  assert.equal(one.status, 429);
  assert.match(one.body.detail, /You have 100 worksheets already/);
});
