// Applications, of a real store.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Bench, bench } from '../../../tests/harness.ts';
import { type StoredSample, storaged } from '../../../tests/storaged.ts';
import { Peer } from '../../peers/peer.ts';
import { Storaged } from '../../peers/storaged.ts';
import type { ApplicationDetail, ApplicationFigures } from './schema.ts';

/** One histogram in each of the last 300 seconds: of the present, which is the store's own. */
function durations(name: string, labels: Record<string, string>, bins: Record<string, number>): StoredSample[] {
  const now = Math.floor(Date.now() / 1000);
  return Array.from({ length: 300 }, (_, ago) => ({ name, labels, time: now - ago, histogram: { bins } }));
}

/** A running total that grows by one each second. */
function total(name: string, labels: Record<string, string>, step = 1): StoredSample[] {
  const now = Math.floor(Date.now() / 1000);
  return Array.from({ length: 310 }, (_, at) => ({ name, labels, time: now - 310 + at, value: at * step }));
}

const near = (value: number | null, wanted: number) =>
  assert.ok(value !== null && Math.abs(value - wanted) <= 0.06 * wanted, `${value} is not about ${wanted}`);

const shop = { job: 'eu/shop', instance: 'i1', 'host.name': 'web-1' };
const cart = { ...shop, 'http.request.method': 'GET', 'http.route': '/cart/{id}', 'http.response.status_code': '200' };
const pay = { ...cart, 'http.request.method': 'POST', 'http.route': '/pay' };

const list = async ({ client }: Bench) => {
  const { status, body } = await client.get('/api/applications');
  assert.equal(status, 200, JSON.stringify(body));
  return body.items as { name: string; parts: ApplicationFigures[] }[];
};
const detail = async ({ client }: Bench, name: string) => {
  const { status, body } = await client.get(`/api/applications/${encodeURIComponent(name)}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body as ApplicationDetail;
};

test('what follows OpenTelemetry’s conventions is an application, with its failures and operations', async (t) => {
  const on = await bench(t);
  await on.client.setUp();
  const store = await storaged(t, on);
  assert.deepEqual(await list(on), []);
  const metric = 'http.server.request.duration';
  await store.import([
    ...durations(metric, cart, { '0.02': 20 }),
    ...durations(metric, pay, { '0.1': 9 }),
    ...durations(metric, { ...pay, 'http.response.status_code': '500' }, { '2': 1 }),
    // A failure that says its type is not counted twice.
    ...durations(metric, { ...pay, 'http.response.status_code': '503', 'error.type': '503' }, { '3': 1 }),
    ...durations(
      'db.client.operation.duration',
      { ...shop, 'db.system.name': 'postgresql', 'db.operation.name': 'SELECT' },
      { '0.004': 40 },
    ),
    // As Prometheus scrapes a service that has the conventions before: milliseconds, in a counter for each bucket.
    ...total(
      'rpc_server_duration_milliseconds_count',
      { job: 'stock', instance: 'stock:9090', rpc_service: 'Stock', rpc_method: 'Reserve', rpc_grpc_status_code: '0' },
      4,
    ),
    ...total('rpc_server_duration_milliseconds_count', {
      job: 'stock',
      instance: 'stock:9090',
      rpc_service: 'Stock',
      rpc_method: 'Reserve',
      rpc_grpc_status_code: '13',
    }),
    ...total(
      'rpc_server_duration_milliseconds_bucket',
      { job: 'stock', instance: 'stock:9090', rpc_service: 'Stock', rpc_method: 'Reserve', le: '10' },
      5,
    ),
    ...total(
      'rpc_server_duration_milliseconds_bucket',
      { job: 'stock', instance: 'stock:9090', rpc_service: 'Stock', rpc_method: 'Reserve', le: '+Inf' },
      5,
    ),
    // No application: nothing names it.
    ...durations('http.client.request.duration', cart, { '0.02': 20 }),
  ]);
  const all = await list(on);
  assert.deepEqual(
    all.map(({ name, parts }) => [name, parts.map(({ kind }) => kind)]),
    [
      ['eu/shop', ['http', 'database']],
      ['stock', ['rpc']],
    ],
  );
  const [http, database] = all[0]?.parts ?? [];
  assert.ok(http && database);
  near(http.rate, 31);
  near(http.errors, 2);
  near(http.median, 0.0205);
  near(http.p99, 3);
  near(database.rate, 40);
  assert.equal(database.errors, 0);
  const [rpc] = all[1]?.parts ?? [];
  assert.ok(rpc);
  near(rpc.rate, 5);
  near(rpc.errors, 1);
  // Milliseconds became seconds.
  near(rpc.p99, 0.0099);

  const { parts, hosts } = await detail(on, 'eu/shop');
  assert.deepEqual(hosts, ['web-1']);
  const [first] = parts;
  assert.ok(first?.histograms);
  assert.deepEqual(
    [first.operationsTotal, first.operations.map(({ name }) => name)],
    [2, ['GET /cart/{id}', 'POST /pay']],
  );
  near(first.operations[1]?.errors ?? null, 2);
  near(first.operations[0]?.p99 ?? null, 0.021);
  // What a chart draws is what the table says.
  const asked = new Storaged(new Peer('storaged', join(on.directory, 'run', 'storaged', 'http.sock')));
  const drawn = async (query: string) => (await asked.query(query))[0]?.value ?? null;
  near(await drawn(first.rateQuery), 31);
  near(await drawn(first.errorsQuery ?? ''), 2);
  await asked.checkSelector(first.durationsQuery);
  near(await drawn(first.operations[1]?.rateQuery ?? ''), 11);
  assert.equal(await drawn(first.operations[0]?.errorsQuery ?? ''), 0);
  const [stock] = (await detail(on, 'stock')).parts;
  assert.equal(stock?.histograms, false);
  near(await drawn(stock.durationsQuery), 9.9);
  const onHost = async (host: string) =>
    (await on.client.get(`/api/applications?host=${host}`)).body.items.map(({ name }: { name: string }) => name);
  assert.deepEqual([await onHost('web-1'), await onHost('stock'), await onHost('web-2')], [['eu/shop'], ['stock'], []]);
  const none = await on.client.get('/api/applications/nobody');
  assert.deepEqual([none.status, none.body.code], [404, 'not_found']);
});

test('a rule makes applications of names, and a wrong one is refused by field', async (t) => {
  const on = await bench(t);
  await on.client.setUp();
  const store = await storaged(t, on);
  await store.import([
    ...durations('prod.shop.cart.add.time', { host: 'a' }, { '0.02': 5 }),
    ...durations('prod.shop.pay.time', { host: 'b' }, { '0.3': 2 }),
    ...durations('prod.mail.send.time', {}, { '1': 1 }),
    ...durations('prod.mail.size', {}, { '100': 1 }),
    ...total('prod.shop.pay.errors', { host: 'b' }),
  ]);
  const put = (rules: object[]) => on.client.put('/api/application-naming', { rules });
  const refused = await put([{ durations: '*.time', failures: '{application}.{x}' }]);
  assert.equal(refused.status, 400);
  assert.deepEqual(
    refused.body.errors.map(({ path }: { path: string }) => path),
    ['/rules/0/durations', '/rules/0/failures'],
  );
  assert.deepEqual(await list(on), []);
  const rule = { durations: '*.{application}.{operation}.time', failures: '*.{application}.{operation}.errors' };
  assert.equal((await put([rule])).status, 200);
  const all = await list(on);
  assert.deepEqual(
    all.map(({ name }) => name),
    ['shop', 'mail'],
  );
  near(all[0]?.parts[0]?.rate ?? null, 7);
  near(all[0]?.parts[0]?.errors ?? null, 1);
  assert.equal(all[1]?.parts[0]?.errors, 0);
  const { parts, hosts } = await detail(on, 'shop');
  assert.deepEqual(hosts, ['a', 'b']);
  const onHost = (await on.client.get('/api/applications?host=a')).body.items;
  assert.deepEqual(
    onHost.map(({ name }: { name: string }) => name),
    ['shop'],
  );
  assert.deepEqual(
    parts[0]?.operations.map(({ name }) => name),
    ['cart.add', 'pay'],
  );
  near(parts[0]?.operations[1]?.errors ?? null, 1);
  assert.equal(parts[0]?.operations[0]?.errors, 0);
  const { body: log } = await on.client.get('/api/audit-log?action=application-naming.');
  assert.equal(log.items[0].action, 'application-naming.set');
});

test('nginx’ log is one, once it is measured; what failed is told when that is', async (t) => {
  const on = await bench(t);
  await on.client.setUp();
  const store = await storaged(t, on);
  const own = 'cistern_http_requests';
  // As tracerd stores them.
  await store.importOwn([...durations(own, { dataset: 'http.requests[latency]' }, { '0.004': 30 })]);
  const part = async () => (await detail(on, 'nginx on this appliance')).parts[0];
  assert.deepEqual(
    (await list(on)).map(({ name, parts }) => [name, parts[0]?.kind, parts[0]?.errors]),
    [['nginx on this appliance', 'log', null]],
  );
  near((await part())?.rate ?? null, 30);
  assert.equal((await part())?.errorsQuery, null);
  const now = Math.floor(Date.now() / 1000);
  await store.importOwn(
    Array.from({ length: 300 }, (_, ago) => ({
      ...{ name: own, labels: { dataset: 'http.requests[status]', status: '502' }, time: now - ago, value: 3 },
    })),
  );
  near((await part())?.errors ?? null, 3);
});
