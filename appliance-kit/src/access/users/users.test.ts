import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Bench, bench, Client, PASSWORD } from '../../../tests/harness.ts';
import { hashPassword, isOutdated, verifyPassword } from './passwords.ts';

const NEW = 'violet tractor umbrella';

async function withUser(t: Parameters<typeof bench>[0], role: string, name = 'bob') {
  const on = await bench(t);
  await on.client.setUp();
  const made = await on.client.post('/api/users', { name, role });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  return { ...on, name, oneTime: made.body.password as string };
}

/** Signs in with a one-time password, and replaces it. */
async function firstSignIn({ appliance }: Bench, user: string, oneTime: string, address = '192.0.2.9') {
  const client = new Client(appliance, address);
  client.password = NEW;
  assert.equal((await client.post('/api/session', { user, password: oneTime })).body.mustChangePassword, true);
  const change = { currentPassword: oneTime, newPassword: NEW };
  assert.equal((await client.post('/api/session/change-password', change)).status, 200);
  return client;
}

test('a user who was added signs in once with the one-time password, and must choose another one', async (t) => {
  const { client, appliance, oneTime, ...on } = await withUser(t, 'operator');
  const browser = new Client(appliance, '192.0.2.9');
  const signedIn = await browser.post('/api/session', { user: 'bob', password: oneTime });
  assert.equal(signedIn.body.mustChangePassword, true);
  for (const path of ['/api/status', '/api/sessions', '/api/tokens']) {
    assert.equal((await browser.get(path)).body.code, 'password_change_required', path);
  }
  const internal = await browser.get('/internal/authorize', {
    headers: { 'x-original-method': 'GET', 'x-original-uri': '/api/v1/query' },
  });
  assert.equal(internal.body.code, 'password_change_required');
  const change = (newPassword: string) =>
    browser.post('/api/session/change-password', { currentPassword: oneTime, newPassword });
  for (const [weak, why] of [
    ['short', /at least 10 characters; it has 5/],
    [oneTime, /present one/],
    ['password1234', /easy to guess/],
    ['aaaaaaaaaaaaaaaa', /easy to guess/],
  ] as const) {
    const { status, body } = await change(weak);
    assert.equal(status, 400, weak);
    assert.match(body.detail, why);
    assert.equal(body.errors[0].path, '/newPassword');
  }
  assert.equal((await change(NEW)).body.mustChangePassword, undefined);
  assert.equal((await browser.get('/api/status')).status, 200);
  assert.equal((await browser.get('/api/users')).status, 403, 'an operator');
  const again = await new Client(appliance).post('/api/session', { user: 'bob', password: oneTime });
  assert.equal(again.body.code, 'wrong_credentials');
  assert.ok(on.directory);
  assert.equal((await client.get('/api/users/bob')).body.password, 'own');
});

test('a one-time password that was not used in a week is good for nothing', async (t) => {
  const { client, appliance, clock, oneTime } = await withUser(t, 'viewer');
  clock.advance(7 * 24 * 3600 + 1);
  const late = await new Client(appliance).post('/api/session', { user: 'bob', password: oneTime });
  assert.equal(late.body.code, 'account_disabled');
  assert.match(late.body.detail, /not used in time/);
  await client.post('/api/session', { user: 'ada', password: PASSWORD });
  assert.equal((await client.get('/api/users/bob')).body.password, 'expired');
  const reset = await client.post('/api/users/bob/reset-password');
  assert.equal(
    (await new Client(appliance).post('/api/session', { user: 'bob', password: reset.body.password })).status,
    200,
  );
});

test('who is disabled is out at once, with sessions and tokens, and is told so only with the right password', async (t) => {
  const on = await withUser(t, 'operator');
  const { client, appliance } = on;
  const bob = await firstSignIn(on, 'bob', on.oneTime);
  const { token } = (await bob.post('/api/tokens', { name: 'sender', role: 'writer' })).body;
  const bearer = { headers: { authorization: `Bearer ${token}` } };
  const write = {
    headers: { ...bearer.headers, 'x-original-method': 'POST', 'x-original-uri': '/api/v1/write' },
  };
  const asBob = () => new Client(appliance).get('/internal/authorize', write);
  assert.equal((await asBob()).status, 204);
  assert.equal((await client.put('/api/users/bob', { role: 'operator', disabled: true })).status, 200);
  assert.equal((await bob.get('/api/status')).status, 401);
  assert.equal((await asBob()).status, 401);
  assert.equal((await client.get('/api/tokens')).body.items[0].state, 'owner-disabled');
  const signIn = (password: string) => new Client(appliance).post('/api/session', { user: 'bob', password });
  assert.equal((await signIn(NEW)).body.code, 'account_disabled');
  assert.equal((await signIn('wrong')).body.code, 'wrong_credentials');
  await client.put('/api/users/bob', { role: 'operator', disabled: false });
  assert.equal((await asBob()).status, 204);
  assert.equal((await signIn(NEW)).status, 200);
});

test('the last administrator who can sign in stays', async (t) => {
  const on = await withUser(t, 'administrator');
  const { client, clock, appliance } = on;
  // bob can still sign in with the one-time password, so ada may go; a week later he cannot.
  clock.advance(8 * 24 * 3600);
  await client.post('/api/session', { user: 'ada', password: PASSWORD });
  for (const answer of [
    await client.put('/api/users/ada', { role: 'operator', disabled: false }),
    await client.put('/api/users/ada', { role: 'administrator', disabled: true }),
    await client.delete('/api/users/ada'),
  ]) {
    assert.equal(answer.status, 409);
    assert.equal(answer.body.code, 'last_administrator');
    assert.match(answer.body.detail, /^ada is the only administrator who can sign in, and cannot be /);
  }
  const { password } = (await client.post('/api/users/bob/reset-password')).body;
  const bob = await firstSignIn({ ...on, appliance }, 'bob', password);
  assert.equal((await bob.delete('/api/users/ada')).status, 204);
  assert.equal((await client.get('/api/status')).status, 401);
  assert.equal((await bob.put('/api/users/bob', { role: 'viewer', disabled: false })).body.code, 'last_administrator');
});

test('a name that is in use, no name, nobody', async (t) => {
  const { client } = await withUser(t, 'viewer');
  assert.equal((await client.post('/api/users', { name: 'bob', role: 'viewer' })).body.code, 'conflict');
  for (const name of ['Bob', '1st', 'with space', '', 'x'.repeat(33)]) {
    assert.equal((await client.post('/api/users', { name, role: 'viewer' })).status, 400, name);
  }
  assert.equal((await client.get('/api/users/nobody')).status, 404);
  assert.equal((await client.delete('/api/users/nobody')).status, 404);
  assert.equal((await client.post('/api/users/nobody/reset-password')).status, 404);
  assert.equal((await client.post('/api/users', { name: 'eve', role: 'root' })).status, 400);
});

test('changing the password ends the other sessions, and needs the present one', async (t) => {
  const { client, appliance } = await bench(t);
  await client.setUp();
  const other = new Client(appliance, '192.0.2.8');
  await other.post('/api/session', { user: 'ada', password: PASSWORD });
  const wrong = { currentPassword: 'not the password', newPassword: NEW };
  assert.equal((await client.post('/api/session/change-password', wrong)).body.code, 'wrong_credentials');
  assert.equal((await other.get('/api/status')).status, 200);
  await client.post('/api/session/change-password', { currentPassword: PASSWORD, newPassword: NEW });
  assert.equal((await client.get('/api/status')).status, 200);
  assert.equal((await other.get('/api/status')).status, 401);
  assert.equal((await client.get('/api/sessions')).body.items.length, 1);
});

test('sessions: one’s own, all for administrators; ended one by one or all', async (t) => {
  const on = await withUser(t, 'viewer');
  const { client, appliance } = on;
  const bob = await firstSignIn(on, 'bob', on.oneTime);
  const phone = new Client(appliance, '198.51.100.3');
  await phone.post('/api/session', { user: 'bob', password: NEW }, { headers: { 'user-agent': 'Phone/1' } });
  const own = (await bob.get('/api/sessions')).body.items;
  assert.deepEqual(
    own.map((one: Record<string, unknown>) => [one.user, one.address, one.own]),
    [
      ['bob', '198.51.100.3', false],
      ['bob', '192.0.2.9', true],
    ],
  );
  assert.equal(own[0].browser, 'Phone/1');
  assert.equal((await bob.get('/api/sessions?of=everyone')).status, 403);
  const all = (await client.get('/api/sessions?of=everyone')).body.items;
  assert.deepEqual(all.map(({ user }: { user: string }) => user).sort(), ['ada', 'bob', 'bob']);
  const adas = all.find(({ user }: { user: string }) => user === 'ada');
  assert.equal((await bob.delete(`/api/sessions/${adas.id}`)).status, 404, 'not his');
  assert.equal((await bob.post('/api/sessions/end', { user: 'ada' })).status, 403);
  assert.equal((await bob.delete(`/api/sessions/${own[0].id}`)).status, 204);
  assert.equal((await phone.get('/api/status')).status, 401);
  assert.equal((await client.post('/api/sessions/end', { user: 'bob' })).status, 204);
  assert.equal((await bob.get('/api/status')).status, 401);
  assert.equal((await client.get('/api/status')).status, 200);
});

test('how long sessions last can be changed', async (t) => {
  const { client, clock } = await bench(t);
  await client.setUp();
  assert.deepEqual(
    (({ idleMinutes, longestHours }) => [idleMinutes, longestHours])((await client.get('/api/session-lifetime')).body),
    [720, 168],
  );
  assert.equal((await client.put('/api/session-lifetime', { idleMinutes: 1, longestHours: 2 })).status, 400);
  assert.equal((await client.put('/api/session-lifetime', { idleMinutes: 10, longestHours: 2 })).status, 200);
  clock.advance(120);
  assert.equal((await client.get('/api/status')).status, 200);
  clock.advance(601);
  assert.equal((await client.get('/api/status')).status, 401);
});

test('what changes who gets in needs the password of the last five minutes; a token needs none', async (t) => {
  const { client, clock, appliance } = await bench(t);
  await client.setUp();
  const { token } = (await client.post('/api/tokens', { name: 'script', role: 'administrator' })).body;
  client.password = null;
  assert.equal((await client.post('/api/users', { name: 'bob', role: 'viewer' })).status, 201, 'signed in just now');
  clock.advance(301);
  const refused = await client.post('/api/users', { name: 'eve', role: 'viewer' });
  assert.equal(refused.status, 403);
  assert.equal(refused.body.code, 'confirmation_required');
  assert.equal(refused.body.detail, 'To add a user, give your password again.');
  assert.equal((await client.get('/api/users')).status, 200, 'reading needs none');
  assert.equal((await client.post('/api/session/confirm', { password: 'wrong' })).body.code, 'wrong_credentials');
  assert.equal((await client.post('/api/users', { name: 'eve', role: 'viewer' })).status, 403);
  assert.equal((await client.post('/api/session/confirm', { password: PASSWORD })).status, 200);
  assert.equal((await client.post('/api/users', { name: 'eve', role: 'viewer' })).status, 201);
  clock.advance(301);
  const headers = { authorization: `Bearer ${token}` };
  const byToken = await new Client(appliance).post('/api/users', { name: 'mia', role: 'viewer' }, { headers });
  assert.equal(byToken.status, 201);
  assert.equal(
    (await new Client(appliance).post('/api/session/confirm', { password: PASSWORD }, { headers })).status,
    403,
  );
});

test('what a role may do is what the routes say', async (t) => {
  const { client } = await bench(t);
  await client.setUp();
  const roles: { role: string; routes: { id: string; change: boolean }[] }[] = (await client.get('/api/roles')).body
    .items;
  assert.deepEqual(
    roles.map(({ role }) => role),
    ['writer', 'viewer', 'operator', 'administrator'],
  );
  const of = (role: string) => roles.find((one) => one.role === role)?.routes.map(({ id }) => id) ?? [];
  assert.ok(of('administrator').includes('createUser'));
  assert.ok(of('operator').includes('createDestination'));
  assert.ok(of('viewer').includes('getStatus'));
  assert.ok(!of('viewer').includes('createUser'));
});

test('hashes of the first versions are taken, and replaced at the sign-in', async (t) => {
  const { client, appliance, directory } = await bench(t);
  await client.setUp();
  // scrypt of “an old password”, as the first versions wrote it.
  const { scryptSync } = await import('node:crypto');
  const salt = Buffer.from('0123456789abcdef');
  const key = scryptSync('an old password', salt, 32, { N: 16384, r: 8, p: 5, maxmem: 64 * 1024 * 1024 });
  const old = ['scrypt', 16384, 8, 5, salt.toString('base64'), key.toString('base64')].join('$');
  assert.ok(isOutdated(old));
  appliance.users.rehash('ada', appliance.users.find('ada')?.passwordHash ?? '', old);
  const browser = new Client(appliance);
  assert.equal((await browser.post('/api/session', { user: 'ada', password: 'another' })).status, 401);
  assert.equal((await browser.post('/api/session', { user: 'ada', password: 'an old password' })).status, 200);
  const hash = appliance.users.find('ada')?.passwordHash ?? '';
  assert.match(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  assert.ok(!isOutdated(hash));
  assert.equal(await verifyPassword('an old password', hash), true);
  const kept = JSON.parse(readFileSync(join(directory, 'state', 'administrators.json'), 'utf8'));
  assert.deepEqual(kept, [{ name: 'ada', passwordHash: hash }]);
});

test('supportd is told of administrators only who may sign in', async (t) => {
  const on = await withUser(t, 'administrator');
  const list = () =>
    JSON.parse(readFileSync(join(on.directory, 'state', 'administrators.json'), 'utf8')).map(
      ({ name }: { name: string }) => name,
    );
  assert.deepEqual(list(), ['ada'], 'not with a one-time password');
  await firstSignIn(on, 'bob', on.oneTime);
  assert.deepEqual(list(), ['ada', 'bob']);
  await on.client.put('/api/users/bob', { role: 'administrator', disabled: true });
  assert.deepEqual(list(), ['ada']);
});

test('passwords: right, wrong, for nobody; composed or decomposed letters are the same', async () => {
  const stored = await hashPassword('pässword with spaces');
  assert.equal(await verifyPassword('pa\u0308ssword with spaces', stored), true);
  assert.equal(await verifyPassword('pässword with space', stored), false);
  assert.equal(await verifyPassword('anything', undefined), false);
  assert.equal(await verifyPassword('', ''), false, 'no password at all');
  assert.notEqual(await hashPassword('pässword with spaces'), stored, 'each has its own salt');
});
