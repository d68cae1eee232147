import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bench, Client, PASSWORD } from '../../../tests/harness.ts';
import { hashPassword, verifyPassword } from '../users/index.ts';

test('signing in and out', async (t) => {
  const { client, appliance } = await bench(t);
  await client.setUp();
  const browser = new Client(appliance);
  assert.deepEqual((await browser.get('/api/session')).body, { user: null });
  const answer = await browser.post('/api/session', { user: 'ada', password: PASSWORD });
  assert.equal(answer.body.user.role, 'administrator');
  const cookie = String(answer.headers['set-cookie']);
  for (const attribute of ['HttpOnly', 'SameSite=Strict', 'Secure', 'Path=/'])
    assert.ok(cookie.includes(attribute), cookie);
  assert.equal((await browser.get('/api/status')).status, 200);
  const kept = new Map(browser.cookies);
  assert.equal((await browser.delete('/api/session')).status, 204);
  assert.equal((await browser.get('/api/status')).status, 401);
  for (const [name, value] of kept) browser.cookies.set(name, value);
  assert.equal(
    (await browser.get('/api/status')).status,
    401,
    'a copy of the cookie is worth nothing after signing out',
  );
});

test('a wrong name and a wrong password get the same answer', async (t) => {
  const { client } = await bench(t);
  await client.setUp();
  const one = await client.post('/api/session', { user: 'ada', password: 'not the password' });
  const other = await client.post('/api/session', { user: 'nobody', password: 'not the password' });
  assert.equal(one.status, 401);
  assert.deepEqual(one.body, other.body);
});

test('ten failures make an address wait; a browser that is known, and other addresses, may still sign in', async (t) => {
  const { client: known, clock, appliance } = await bench(t);
  await known.setUp();
  const client = new Client(appliance, known.address);
  const wrong = { user: 'ada', password: 'not the password' };
  const right = { user: 'ada', password: PASSWORD };
  // All at once: none of them may slip through because the others are still being checked.
  const guess = (many: number) => Promise.all(Array.from({ length: many }, () => client.post('/api/session', wrong)));
  const codes = [...(await guess(7)), ...(await guess(7))].map(({ body }) => body.code);
  assert.equal(codes.filter((code) => code === 'wrong_credentials').length, 10);
  assert.equal(codes.filter((code) => code === 'locked_out').length, 4);
  assert.equal((await client.post('/api/session', right)).body.code, 'locked_out');
  assert.equal((await new Client(appliance, '192.0.2.8').post('/api/session', right)).status, 200);
  assert.equal((await known.post('/api/session', right)).status, 200, 'the same address, but a browser of hers');
  clock.advance(61);
  assert.equal((await client.post('/api/session', wrong)).body.code, 'wrong_credentials', 'one more each minute');
  assert.equal((await client.post('/api/session', right)).body.code, 'locked_out');
  clock.advance(61);
  assert.equal((await client.post('/api/session', right)).status, 200);
});

test('a success takes the failures before it back', async (t) => {
  const { client } = await bench(t);
  await client.setUp();
  const wrong = { user: 'ada', password: 'not the password' };
  for (let round = 0; round < 2; round++) {
    for (let n = 0; n < 9; n++) assert.equal((await client.post('/api/session', wrong)).status, 401);
    assert.equal((await client.post('/api/session', { user: 'ada', password: PASSWORD })).status, 200);
  }
});

test('a session ends when it is not used, and after a week in any case', async (t) => {
  const { client, clock, appliance } = await bench(t);
  await client.setUp();
  const idle = new Client(appliance);
  await idle.post('/api/session', { user: 'ada', password: PASSWORD });
  for (let hours = 0; hours < 7 * 24; hours += 6) {
    assert.equal((await client.get('/api/status')).status, 200, `after ${hours} h`);
    clock.advance(6 * 3600);
  }
  assert.equal((await client.get('/api/status')).status, 401);
  assert.equal((await idle.get('/api/status')).status, 401);
});

test('neither passwords, cookies, tokens nor the code are kept in readable form', async (t) => {
  const { client, directory, appliance } = await bench(t);
  await client.setUp();
  const { body } = await client.post('/api/tokens', { name: 'x', role: 'writer' });
  const secrets = [PASSWORD, body.token as string, ...client.cookies.values()];
  assert.equal(secrets.length, 4, 'with those of the session and of the browser');
  appliance.db.get('PRAGMA wal_checkpoint(TRUNCATE)');
  const state = readFileSync(join(directory, 'state', 'state.db'), 'latin1');
  assert.ok(state.includes('ada'), 'the state was really read');
  for (const secret of secrets) assert.ok(!state.includes(secret));
  const { items } = (await client.get('/api/tokens')).body;
  assert.equal(items[0].token, undefined);
});

test('passwords: right, wrong, for nobody; composed or decomposed letters are the same', async () => {
  const stored = await hashPassword('pässword with spaces');
  assert.equal(await verifyPassword('pa\u0308ssword with spaces', stored), true);
  assert.equal(await verifyPassword('pässword with space', stored), false);
  assert.equal(await verifyPassword('anything', undefined), false);
  assert.notEqual(await hashPassword('pässword with spaces'), stored, 'each has its own salt');
});
