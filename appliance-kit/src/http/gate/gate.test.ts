import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench, Client } from '../../../tests/harness.ts';
import { needed } from '../../access/authorize/authorize.ts';
import { allRoutes } from '../../appliance.ts';
import type { Route } from '../routes.ts';

const all = allRoutes.flatMap((routes) => Object.entries(routes));
const pathOf = (route: Route) => route.path.replace(/:\w+/g, 'x');
const bodyOf = (route: Route) => (route.body === undefined ? undefined : {});

/** The routes a stranger may use. A new one here is a decision somebody has to make. */
const OPEN = [
  'getOpenapi',
  'getSetup',
  'enterSetupCode',
  'getSession',
  'signIn',
  'listOfferedProviders',
  'startProvider',
  'finishProvider',
  'startPasskeyUse',
  'signInByPasskey',
  'startSignInRequest',
  'collectSignIn',
  // By a token that is good once, at an address to which no session has come along.
  'confirmNetwork',
  'signOut',
  'listTimeZones',
  'authorize',
  'simulate',
];

test('every route has a decision about who may use it, and the open ones are known by name', () => {
  const decisions = ['anyone', 'setup', 'session', 'viewer', 'operator', 'administrator', 'nginx', 'simulation'];
  for (const [id, route] of all) assert.ok(decisions.includes(route.access), `${id}: ${route.access}`);
  const open = all.filter(([, route]) => ['anyone', 'nginx', 'simulation'].includes(route.access)).map(([id]) => id);
  assert.deepEqual(open.sort(), [...OPEN].sort());
});

test('nothing is served that is not in the table', async (t) => {
  const { appliance } = await bench(t);
  await appliance.app.ready();
  const served = appliance.app.printRoutes({ commonPrefix: false });
  const count = [...served.matchAll(/\(([A-Z, ]+)\)/g)].flatMap((match) => (match[1] as string).split(', ')).length;
  assert.equal(count, all.length, served);
});

test('a stranger is refused everywhere else, before the body is looked at', async (t) => {
  const { client } = await bench(t);
  for (const [id, route] of all) {
    if (OPEN.includes(id)) continue;
    const answer = await client.request(route.method, pathOf(route), bodyOf(route));
    assert.equal(answer.status, 401, id);
    assert.equal(answer.body.code, 'unauthenticated', id);
  }
});

test('each role may do what its line says, and no more', async (t) => {
  const { client, appliance } = await bench(t);
  await client.setUp();
  const rank = { writer: 0, viewer: 1, operator: 2, administrator: 3 };
  for (const role of ['writer', 'viewer', 'operator', 'administrator'] as const) {
    const { body } = await client.post('/api/tokens', { name: role, role });
    const program = new Client(appliance);
    for (const [id, route] of all) {
      if (route.access === 'session') {
        const headers = { authorization: `Bearer ${body.token}` };
        assert.equal((await program.request(route.method, pathOf(route), bodyOf(route), { headers })).status, 403, id);
      }
      if (!(route.access in rank) || id === 'watchEvents') continue;
      const headers = { authorization: `Bearer ${body.token}` };
      const answer = await program.request(route.method, pathOf(route), bodyOf(route), { headers });
      const may = rank[role] >= rank[route.access as keyof typeof rank];
      assert.equal(answer.status === 403, !may, `${role} ${id} → ${answer.status}`);
    }
  }
});

test('a change with a cookie must come from our own pages', async (t) => {
  const { client } = await bench(t);
  await client.setUp();
  const body = { name: 'x', role: 'viewer' };
  const foreign: Record<string, string>[] = [
    { origin: 'https://evil.test' },
    { origin: 'null' },
    { origin: '' },
    { origin: 'https://evil.test', 'sec-fetch-site': 'cross-site' },
    { origin: 'https://evil.cistern.test', 'sec-fetch-site': 'same-site' },
  ];
  for (const headers of foreign) {
    const answer = await client.post('/api/tokens', body, { headers });
    assert.equal(answer.body.code, 'out_of_origin', JSON.stringify(headers));
  }
  assert.equal((await client.get('/api/tokens')).body.items.length, 0);
  const same = { origin: 'https://elsewhere.test', 'sec-fetch-site': 'same-origin' };
  assert.equal((await client.post('/api/tokens', body, { headers: same })).status, 201);
});

test('another site cannot sign a browser in', async (t) => {
  const { client, appliance } = await bench(t);
  await client.setUp();
  const other = new Client(appliance);
  const answer = await other.post(
    '/api/session',
    { user: 'ada', password: 'x' },
    { headers: { origin: 'https://evil.test' } },
  );
  assert.equal(answer.body.code, 'out_of_origin');
});

test('an unknown token is nobody, even with a good cookie beside it', async (t) => {
  const { client } = await bench(t);
  await client.setUp();
  const answer = await client.get('/api/status', { headers: { authorization: 'Bearer cistern_nonsense' } });
  assert.equal(answer.status, 401);
});

test('the client address is the one nginx appended, not what the client claims', async (t) => {
  const { client } = await bench(t);
  await client.setUp();
  await client.post(
    '/api/tokens',
    { name: 'x', role: 'viewer' },
    { headers: { 'x-forwarded-for': '6.6.6.6, 192.0.2.9' } },
  );
  const { body } = await client.get('/api/audit-log');
  assert.equal(body.items[0].address, '192.0.2.9');
});

test('what storaged may be asked, by whom', () => {
  const cases: [string, string, string | undefined][] = [
    ['GET', '/api/v1/query?query=up', 'viewer'],
    ['GET', '/api/v1/label/job/values', 'viewer'],
    ['GET', '/api/v1/status/storage', 'viewer'],
    ['POST', '/api/v1/query', 'viewer'],
    ['POST', '/api/v1/query_range', 'viewer'],
    ['POST', '/api/v1/labels', 'viewer'],
    ['POST', '/api/v1/series', 'viewer'],
    ['POST', '/api/v1/write', 'writer'],
    ['POST', '/v1/metrics', 'writer'],
    ['GET', '/v1/metrics', undefined],
    ['POST', '/v1/metrics/x', undefined],
    ['POST', '/api/v1/otlp/v1/metrics', 'writer'],
    ['GET', '/api/v1/otlp/v1/metrics', undefined],
    ['POST', '/api/v1/otlp/v1/traces', undefined],
    ['GET', '/federate?match[]=up', 'viewer'],
    ['POST', '/federate', undefined],
    ['GET', '/federate/x', undefined],
    ['POST', '/api/v1/parse_query', 'viewer'],
    ['GET', '/api/v1/status/flags', 'viewer'],
    ['POST', '/write?db=telegraf', 'writer'],
    ['POST', '/api/v2/write?org=o&bucket=b', 'writer'],
    ['GET', '/ping', 'writer'],
    ['HEAD', '/ping', 'writer'],
    ['POST', '/query?q=CREATE+DATABASE+x', 'writer'],
    ['GET', '/query', 'writer'],
    ['GET', '/write', undefined],
    ['POST', '/write/', undefined],
    ['DELETE', '/api/v2/write', undefined],
    ['POST', '/api/v2/query', undefined],
    ['POST', '/constructor', undefined],
    ['POST', '/api/v1/collectd', 'writer'],
    ['PUT', '/api/v1/collectd', undefined],
    ['POST', '/api/v1/trap', 'writer'],
    ['PUT', '/api/v1/trap/shop', 'writer'],
    ['POST', '/api/v1/trap/a/b', undefined],
    ['POST', '/api/v1/read', 'viewer'],
    ['POST', '/api/v1/histogram/quantiles', 'viewer'],
    ['POST', '/admin/tsdb/delete_series', 'administrator'],
    ['POST', '/api/v1/import', 'writer'],
    ['POST', '/admin/flush', 'administrator'],
    ['GET', '/admin/flush', 'administrator'],
    ['POST', '/api/v1/unknown', undefined],
    ['DELETE', '/api/v1/series', undefined],
    ['PUT', '/api/v1/write', undefined],
    ['GET', '/api/status', undefined],
    ['GET', '/', undefined],
    ['GET', '/api/v1/../../admin/flush', undefined],
    ['GET', '/api/v1/%2e%2e/%2E%2e/admin/flush', undefined],
    ['POST', '/api/v1//write', undefined],
    ['POST', '/api/v1/query/../write', undefined],
    ['GET', '/api/v1/x%2Fadmin', undefined],
    ['POST', '/api/v1/write/', undefined],
  ];
  for (const [method, uri, role] of cases) assert.equal(needed(method, uri), role, `${method} ${uri}`);
});

test('nginx is answered yes or no', async (t) => {
  const { client, appliance, clock } = await bench(t);
  await client.setUp();
  const token = async (role: string) => (await client.post('/api/tokens', { name: role, role })).body.token as string;
  const ask = (authorization: string | undefined, method: string, uri: string) =>
    new Client(appliance).get('/internal/authorize', {
      headers: { ...(authorization && { authorization }), 'x-original-method': method, 'x-original-uri': uri },
    });
  const writer = await token('writer');
  const viewer = await token('viewer');
  const basic = (secret: string) => `Basic ${Buffer.from(`anything:${secret}`).toString('base64')}`;

  const yes = await ask(`Bearer ${writer}`, 'POST', '/api/v1/write');
  assert.equal(yes.status, 204);
  assert.equal(yes.headers['x-cistern-user'], 'token%3Awriter');
  assert.equal((await ask(basic(writer), 'POST', '/api/v1/import')).status, 204);
  assert.equal((await ask(`Token ${writer}`, 'POST', '/api/v2/write')).status, 204);
  assert.equal((await ask(`Token ${viewer}`, 'POST', '/api/v2/write')).status, 403);
  assert.equal((await ask('Token nonsense', 'POST', '/api/v2/write')).status, 401);
  assert.equal((await ask(`Bearer ${writer}`, 'GET', '/api/v1/query')).status, 403);
  assert.equal((await ask(`Bearer ${viewer}`, 'GET', '/api/v1/query?query=up')).status, 204);
  assert.equal((await ask(`Bearer ${viewer}`, 'POST', '/api/v1/query')).status, 204);
  assert.equal((await ask(`Bearer ${viewer}`, 'POST', '/api/v1/write')).status, 403);
  assert.equal((await ask(`Bearer ${viewer}`, 'POST', '/admin/flush')).status, 403);
  assert.equal((await ask(undefined, 'GET', '/api/v1/query')).status, 401);
  assert.equal((await ask('Bearer nonsense', 'GET', '/api/v1/query')).status, 401);

  const cookie = (headers: Record<string, string>) => client.get('/internal/authorize', { headers });
  const write = { 'x-original-method': 'POST', 'x-original-uri': '/admin/flush' };
  assert.equal((await cookie(write)).status, 204);
  assert.equal((await cookie({ ...write, origin: 'https://evil.test' })).body.code, 'out_of_origin');

  const { items } = (await client.get('/api/tokens')).body;
  const { id } = items.find((one: { name: string }) => one.name === 'writer');
  await client.delete(`/api/tokens/${id}`);
  assert.equal((await ask(`Bearer ${writer}`, 'POST', '/api/v1/write')).status, 401);

  const remove = { ...write, 'x-original-uri': '/admin/tsdb/delete_series?match[]=up' };
  assert.equal((await cookie(remove)).status, 204);
  clock.advance(6 * 60);
  client.password = null;
  assert.equal((await cookie(remove)).body.code, 'confirmation_required');
  assert.equal((await cookie(write)).status, 204);
});
