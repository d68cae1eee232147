// Every route × every role × every way in which somebody is not let in, out of the routes' own lists: a new route is in
// here without a word, and one that forgets the gate fails.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { allRoutes } from '../src/appliance.ts';
import { atLeast } from '../src/http/gate/caller.ts';
import { Role } from '../src/http/gate/roles.ts';
import type { Route } from '../src/http/routes.ts';
import { addFactor, type Bench, bench, Client } from './harness.ts';

const OWN = 'violet tractor umbrella';
const ROLES = Role.enum as readonly Role[];
const all = allRoutes.flatMap((routes) => Object.entries(routes) as [string, Route][]);
/** What strangers may ask, or simulate; gate.test.ts names each. */
const isOpen = ({ access }: Route) => ['anyone', 'nginx', 'simulation'].includes(access);
const guarded = all.filter(([, route]) => !isOpen(route));
const isWrite = ({ method }: Route) => method !== 'GET';

const ask = (client: Client, route: Route, headers: Record<string, string> = {}) =>
  client.requestOnce(route.method, route.path.replace(/:\w+/g, 'x'), route.body === undefined ? undefined : {}, {
    headers,
  });

async function refusesAll(
  who: string,
  status: number,
  code: string,
  one: (route: Route) => ReturnType<typeof ask>,
  routes = guarded,
) {
  for (const [id, route] of routes) {
    const answer = await one(route);
    assert.deepEqual([answer.status, answer.body?.code], [status, code], `${who}: ${id}`);
  }
}

/** Whether the telemetry store may be asked, as nginx asks. */
const asNginx = { 'x-original-method': 'GET', 'x-original-uri': '/api/v1/query' };
async function storeRefuses(client: Client, code: string, headers: Record<string, string> = {}) {
  assert.equal((await client.get('/internal/authorize', { headers: { ...asNginx, ...headers } })).body?.code, code);
}

/** Somebody of each role, signed in; the password was given too long ago to confirm anything. */
async function people(t: TestContext) {
  const on = await bench(t);
  await on.client.setUp();
  const found = new Map<Role, Client>();
  for (const role of ROLES) {
    const { body } = await on.client.post('/api/users', { name: `a-${role}`, role });
    const client = new Client(on.appliance, '192.0.2.9');
    client.password = OWN;
    await client.post('/api/session', { user: `a-${role}`, password: body.password });
    const change = { currentPassword: body.password, newPassword: OWN };
    assert.equal((await client.post('/api/session/change-password', change)).status, 200);
    found.set(role, client);
  }
  on.clock.advance(600);
  return { ...on, people: found };
}

const tokenOf = async ({ client }: Bench, role: Role, networks: string[] = []) => {
  const { status, body } = await client.post('/api/tokens', { name: `t-${role}`, role, networks });
  assert.equal(status, 201, JSON.stringify(body));
  return { authorization: `Bearer ${body.token}` };
};

test('there are routes to try, of each kind', () => {
  for (const access of ['session', ...ROLES])
    assert.ok(
      guarded.some(([, route]) => route.access === access),
      access,
    );
  assert.ok(guarded.length > 100 && guarded.some(([, { confirm }]) => confirm));
});

test('a role that is too low, and a password that was given too long ago', async (t) => {
  const on = await people(t);
  let low = 0;
  let unconfirmed = 0;
  for (const [role, client] of on.people) {
    for (const [id, route] of guarded) {
      const may = route.access === 'session' || (route.access !== 'setup' && atLeast(role, route.access as Role));
      // What is allowed is tried with tokens (gate.test.ts): some of it would end the session.
      if (may && !route.confirm) continue;
      const answer = await ask(client, route);
      if (route.access === 'setup') assert.deepEqual([answer.status, answer.body.code], [401, 'unauthenticated'], id);
      else if (may) assert.equal(answer.body?.code, 'confirmation_required', `${role}: ${id}`);
      else assert.deepEqual([answer.status, answer.body?.code], [403, 'forbidden'], `${role}: ${id}`);
      if (may) unconfirmed++;
      else low++;
    }
  }
  assert.ok(low > 100 && unconfirmed > 20, `${low} ${unconfirmed}`);
});

test('a session that has ended', async (t) => {
  const on = await people(t);
  on.clock.advance(8 * 86_400);
  for (const [role, client] of on.people) {
    await refusesAll(role, 401, 'unauthenticated', (route) => ask(client, route));
    await storeRefuses(client, 'unauthenticated');
  }
});

test('a change from another site, with a good session', async (t) => {
  const on = await people(t);
  const writes = all.filter(([, route]) => isWrite(route));
  for (const [role, client] of on.people) {
    const other = { origin: 'https://evil.test', 'sec-fetch-site': 'cross-site' };
    await refusesAll(role, 403, 'out_of_origin', (route) => ask(client, route, other), writes);
  }
});

test('a user who was disabled: the session, and a token', async (t) => {
  const on = await people(t);
  for (const [role, client] of on.people) {
    const made = await client.post('/api/tokens', { name: 'mine', role: 'viewer' });
    const headers = { authorization: `Bearer ${made.body.token}` };
    assert.equal((await new Client(on.appliance).get('/api/status', { headers })).status, 200, role);
    const disabled = await on.client.put(`/api/users/a-${role}`, { role, disabled: true });
    assert.equal(disabled.status, 200, JSON.stringify(disabled.body));
    await refusesAll(role, 401, 'unauthenticated', (route) => ask(client, route));
    await storeRefuses(client, 'unauthenticated');
    await refusesAll(`${role}'s token`, 401, 'unauthenticated', (route) =>
      ask(new Client(on.appliance), route, headers),
    );
    await storeRefuses(new Client(on.appliance), 'unauthenticated', headers);
  }
});

test('a token from a network that is not its own, one that expired, and one that was withdrawn', async (t) => {
  const on = await people(t);
  for (const role of ROLES) {
    const headers = await tokenOf(on, role, ['198.51.100.0/24']);
    const [near, far] = [new Client(on.appliance, '198.51.100.7'), new Client(on.appliance, '203.0.113.7')];
    assert.equal((await near.get('/api/status', { headers })).status, 200);
    await refusesAll(`${role} from elsewhere`, 401, 'unauthenticated', (route) => ask(far, route, headers));
    await storeRefuses(far, 'unauthenticated', headers);
    // A cookie beside it that is good does not help.
    const mixed = on.people.get(role) as Client;
    await refusesAll(`${role}, with a session`, 401, 'unauthenticated', (route) => ask(mixed, route, headers));
  }
  const { body } = await on.client.get('/api/tokens');
  assert.equal((await on.client.delete(`/api/tokens/${body.items[0].id}`)).status, 204);
  const gone = await tokenOf(on, 'administrator');
  on.clock.advance(366 * 86_400);
  await refusesAll('expired', 401, 'unauthenticated', (route) => ask(new Client(on.appliance), route, gone));
  await storeRefuses(new Client(on.appliance), 'unauthenticated', gone);
});

test('a one-time password that was not replaced', async (t) => {
  const on = await bench(t);
  await on.client.setUp();
  for (const role of ROLES) {
    const { body } = await on.client.post('/api/users', { name: `a-${role}`, role });
    const client = new Client(on.appliance, '192.0.2.9');
    await client.post('/api/session', { user: `a-${role}`, password: body.password });
    const refused = guarded.filter(([, route]) => !route.duringPasswordChange);
    await refusesAll(role, 403, 'password_change_required', (route) => ask(client, route), refused);
    await storeRefuses(client, 'password_change_required');
  }
});

test('an administrator who has no second factor where one is demanded', async (t) => {
  const on = await people(t);
  const session = await on.client.post('/api/session', { user: 'ada', password: on.client.password });
  assert.equal(session.status, 200, JSON.stringify(session.body));
  await addFactor(on);
  const requiredFrom = new Date(on.clock.now() + 1000).toISOString();
  assert.equal((await on.client.put('/api/second-factor-policy', { requiredFrom })).status, 200);
  on.clock.advance(60);
  const client = on.people.get('administrator') as Client;
  const refused = guarded.filter(([, route]) => !route.duringFactorAddition);
  await refusesAll('administrator', 403, 'factor_addition_required', (route) => ask(client, route), refused);
  await storeRefuses(client, 'factor_addition_required');
});
