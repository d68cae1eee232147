import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench, Client, PASSWORD } from '../../../tests/harness.ts';
import { isInside, networkProblem } from './networks.ts';

const DAY = 24 * 3600;

async function withToken(t: Parameters<typeof bench>[0], body: Record<string, unknown>) {
  const on = await bench(t, { start: true });
  await on.client.setUp();
  const made = await on.client.post('/api/tokens', { name: 'grafana', role: 'viewer', ...body });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const headers = { authorization: `Bearer ${made.body.token}` };
  const use = async (address = '192.0.2.50') =>
    (await new Client(on.appliance, address).get('/api/status', { headers })).status;
  return { ...on, made: made.body, use };
}

test('a token expires after a year, or when it was said; two weeks before there is an alert', async (t) => {
  const { client, clock, made, use } = await withToken(t, {});
  assert.equal(Date.parse(made.expiresAt) - clock.now(), 365 * DAY * 1000);
  const refresh = () => client.post('/api/session', { user: 'ada', password: PASSWORD });
  clock.advance(365 * DAY - 1);
  assert.equal(await use(), 200);
  clock.advance(1);
  assert.equal(await use(), 401);
  await refresh();
  assert.equal((await client.get('/api/tokens')).body.items[0].state, 'expired');
  const { etag, ...rest } = (await client.get(`/api/tokens/${made.id}`)).body;
  const later = new Date(clock.now() + 10 * DAY * 1000).toISOString();
  const change = { name: rest.name, owner: rest.owner, networks: rest.networks, expiresAt: later };
  assert.equal((await client.put(`/api/tokens/${made.id}`, change)).body.state, 'valid');
  assert.equal(await use(), 200);
  const past = { ...change, expiresAt: '2020-01-01T00:00:00.000Z' };
  assert.match(
    (await client.put(`/api/tokens/${made.id}`, past)).body.detail,
    /is over; to withdraw the token, delete it/,
  );
  const stale = await client.put(`/api/tokens/${made.id}`, change, { headers: { 'if-match': `"${etag}"` } });
  assert.equal(stale.body.code, 'edit_conflict');
});

test('an alert says which token expires', async (t) => {
  const { client, appliance, restart } = await withToken(t, { expiresInDays: 10 });
  await client.post('/api/tokens', { name: 'long', role: 'viewer', expiresInDays: null });
  await appliance.jobs.settled();
  const again = await restart(); // it is looked for hourly, and at the start
  const browser = new Client(again.appliance);
  await browser.post('/api/session', { user: 'ada', password: PASSWORD });
  const titles = async () =>
    (await browser.get('/api/alerts?state=active')).body.items
      .filter((one: { class: string }) => one.class === 'token.expiring')
      .map(({ title }: { title: string }) => title);
  for (let n = 0; n < 300 && (await titles()).length === 0; n++)
    await new Promise((resolve) => setTimeout(resolve, 10));
  assert.deepEqual(await titles(), ['The API token “grafana” expires in 10 days']);
});

test('a token is taken only from its networks, and says where it was used last', async (t) => {
  const { client, use } = await withToken(t, { networks: ['192.0.2.0/28', '2001:db8::/32'] });
  assert.equal(await use('192.0.2.7'), 200);
  assert.equal(await use('192.0.2.17'), 401);
  assert.equal(await use('2001:db8:1::9'), 200);
  assert.equal(await use('2001:db9::9'), 401);
  const [token] = (await client.get('/api/tokens')).body.items;
  assert.equal(token.lastUsedFrom, '192.0.2.7');
  const bad = await client.post('/api/tokens', { name: 'x', role: 'viewer', networks: ['192.0.2.0/33', 'berlin'] });
  assert.equal(bad.status, 400);
  assert.match(bad.body.detail, /“192.0.2.0\/33” ends in \/33; 0 to 32 are there\. “berlin” is neither an address/);
  assert.deepEqual(
    bad.body.errors.map(({ path }: { path: string }) => path),
    ['/networks/0', '/networks/1'],
  );
});

test('a user makes tokens no mightier than the user, and sees only those', async (t) => {
  const { client, appliance, clock } = await withToken(t, {});
  const people: Record<string, Client> = {};
  for (const [name, role] of [
    ['vera', 'viewer'],
    ['otto', 'operator'],
  ] as const) {
    const { password } = (await client.post('/api/users', { name, role })).body;
    const one = new Client(appliance, '192.0.2.9');
    await one.post('/api/session', { user: name, password });
    const change = { currentPassword: password, newPassword: 'violet tractor umbrella' };
    assert.equal((await one.post('/api/session/change-password', change)).status, 200);
    people[name] = one;
  }
  const { vera, otto } = people as { vera: Client; otto: Client };
  const tryRole = async (one: Client, role: string) => (await one.post('/api/tokens', { name: role, role })).status;
  assert.deepEqual(
    [await tryRole(vera, 'viewer'), await tryRole(vera, 'writer'), await tryRole(vera, 'operator')],
    [201, 403, 403],
  );
  assert.deepEqual(
    [await tryRole(otto, 'writer'), await tryRole(otto, 'operator'), await tryRole(otto, 'administrator')],
    [201, 201, 403],
  );
  const names = async (one: Client) =>
    (await one.get('/api/tokens')).body.items.map(({ name }: { name: string }) => name);
  assert.deepEqual(await names(vera), ['viewer']);
  assert.deepEqual(await names(client), ['grafana', 'viewer', 'writer', 'operator']);
  const ottos = (await otto.get('/api/tokens')).body.items;
  assert.equal((await vera.delete(`/api/tokens/${ottos[0].id}`)).status, 404);
  // A user who is made less takes the tokens along.
  const made = (await otto.post('/api/tokens', { name: 'more', role: 'operator' })).body;
  const asToken = (method: string, uri: string) =>
    new Client(appliance).get('/internal/authorize', {
      headers: { authorization: `Bearer ${made.token}`, 'x-original-method': method, 'x-original-uri': uri },
    });
  assert.equal((await asToken('POST', '/api/v1/write')).status, 204);
  await client.put('/api/users/otto', { role: 'viewer', disabled: false });
  assert.equal((await asToken('POST', '/api/v1/write')).status, 403);
  assert.equal((await asToken('GET', '/api/v1/query')).status, 204);
  // Deleted with the owner, unless they are handed over.
  assert.equal((await client.delete('/api/users/otto?tokensTo=nobody')).status, 400);
  assert.equal((await client.delete('/api/users/vera')).status, 204);
  assert.deepEqual(await names(client), ['grafana', 'writer', 'operator', 'more']);
  assert.equal((await client.delete('/api/users/otto?tokensTo=ada')).status, 204);
  assert.equal((await asToken('POST', '/api/v1/write')).status, 204, 'ada is an administrator');
  assert.ok(clock.now() > 0);
});

test('networks and addresses', () => {
  for (const right of ['192.0.2.1', '192.0.2.0/24', '0.0.0.0/0', '::1', '2001:db8::/128']) {
    assert.equal(networkProblem(right), null, right);
  }
  for (const wrong of [
    '',
    '192.0.2',
    '192.0.2.0/',
    '192.0.2.0/33',
    '192.0.2.0/-1',
    '::/129',
    'a/b/c',
    '10.0.0.0/8/8',
  ]) {
    assert.notEqual(networkProblem(wrong), null, wrong);
  }
  const json = JSON.stringify(['192.0.2.0/24', '198.51.100.7']);
  assert.equal(isInside('[]', 'anything'), true);
  assert.equal(isInside(json, 'local'), true);
  assert.equal(isInside(json, '192.0.2.200'), true);
  assert.equal(isInside(json, '198.51.100.8'), false);
  assert.equal(isInside(json, 'not an address'), false);
});
