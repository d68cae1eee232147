import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bench, Client, CODE, PASSWORD } from '../../../tests/harness.ts';

test('the wizard, from the code to the end; and it is over then', async (t) => {
  const { client, appliance } = await bench(t);
  const step = async () => (await client.get('/api/setup')).body;
  assert.deepEqual(await step(), {
    completed: false,
    step: 'code',
    hostName: 'cistern',
    timeZone: 'UTC',
    applianceName: 'Cistern',
    live: null,
  });
  assert.equal((await client.post('/api/setup/enter-code', { code: 'abcd efgh jklm' })).body.step, 'administrator');
  const session = await client.post('/api/setup/create-administrator', { name: 'ada', password: PASSWORD });
  assert.deepEqual(session.body.user, { name: 'ada', role: 'administrator' });
  assert.equal((await client.get('/api/session')).body.user.name, 'ada');
  assert.equal((await step()).step, 'identity');

  const identity = { hostName: 'Metrics1.example.org', timeZone: 'Europe/Berlin' };
  const named = await client.post('/api/setup/set-identity', identity);
  assert.equal(named.body.applianceName, 'metrics1.example.org');
  assert.equal(named.body.step, 'pool');
  assert.equal((await client.post('/api/setup/go-to-step', { step: 'destinations' })).body.step, 'destinations');
  assert.equal(
    (await client.post('/api/setup/go-to-step', { step: 'pool' })).body.step,
    'destinations',
    'it goes forward only',
  );
  assert.equal((await client.post('/api/setup/go-to-step', { step: 'done' })).body.step, 'done');
  assert.equal((await client.post('/api/setup/finish')).body.completed, true);

  const stranger = new Client(appliance);
  assert.equal((await stranger.post('/api/setup/enter-code', { code: CODE })).body.code, 'setup_done');
});

test('whoever opens the page reads that it runs live, and that nothing is kept', async (t) => {
  const { client } = await bench(t);
  await client.post('/internal/sim/live', { medium: 'sr0' });
  assert.equal((await client.get('/api/setup')).body.live, 'sr0');
  await client.post('/internal/sim/live', { medium: null });
  assert.equal((await client.get('/api/setup')).body.live, null);
});

test('it can be left and resumed after a restart, by signing in', async (t) => {
  const before = await bench(t);
  await before.client.setUp();
  const { appliance } = await before.restart();
  const client = new Client(appliance);
  assert.equal((await client.get('/api/setup')).body.step, 'identity');
  assert.equal((await client.post('/api/setup/set-identity', { hostName: 'm', timeZone: 'UTC' })).status, 401);
  await client.post('/api/session', { user: 'ada', password: PASSWORD });
  assert.equal((await client.post('/api/setup/set-identity', { hostName: 'm', timeZone: 'UTC' })).status, 200);
});

test('a second administrator cannot be made with the code', async (t) => {
  const { client, appliance } = await bench(t);
  const rival = new Client(appliance);
  await rival.post('/api/setup/enter-code', { code: CODE });
  await client.setUp();
  const body = { name: 'eve', password: PASSWORD };
  assert.equal(
    (await rival.post('/api/setup/create-administrator', body)).status,
    401,
    'the cookie ended with the first one',
  );
  assert.equal((await rival.post('/api/setup/enter-code', { code: CODE })).body.code, 'setup_done');
  assert.equal((await client.get('/api/users')).body.items.length, 1);
});

test('a browser that has not given the code is asked for it, whatever another has done', async (t) => {
  const { client, appliance, clock } = await bench(t);
  const other = new Client(appliance);
  await client.post('/api/setup/enter-code', { code: CODE });
  const stepOf = async (who: Client) => (await who.get('/api/setup')).body.step;
  assert.deepEqual([await stepOf(client), await stepOf(other)], ['administrator', 'code']);
  clock.advance(2 * 3600 + 1);
  assert.equal(await stepOf(client), 'code', 'its cookie has expired');
  await client.setUp();
  assert.deepEqual([await stepOf(client), await stepOf(other)], ['identity', 'identity'], 'signing in comes next');
});

test('two who create the administrator at the same moment: one does', async (t) => {
  const { client, appliance } = await bench(t);
  const rival = new Client(appliance);
  await client.post('/api/setup/enter-code', { code: CODE });
  await rival.post('/api/setup/enter-code', { code: CODE });
  const answers = await Promise.all([
    client.post('/api/setup/create-administrator', { name: 'ada', password: PASSWORD }),
    rival.post('/api/setup/create-administrator', { name: 'eve', password: PASSWORD }),
  ]);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
});

test('after ten wrong codes an address has one more each minute, also over a restart', async (t) => {
  const first = await bench(t);
  for (let n = 0; n < 10; n++) {
    assert.equal(
      (await first.client.post('/api/setup/enter-code', { code: `WRONG-${n}` })).body.code,
      'wrong_setup_code',
    );
  }
  const { appliance, clock } = await first.restart();
  const client = new Client(appliance);
  const locked = await client.post('/api/setup/enter-code', { code: CODE });
  assert.equal(locked.status, 429);
  assert.equal(locked.body.code, 'locked_out');
  assert.equal((await new Client(appliance, '192.0.2.8').post('/api/setup/enter-code', { code: CODE })).status, 200);
  clock.advance(61);
  assert.equal((await client.post('/api/setup/enter-code', { code: CODE })).status, 200);
});

test('a set-up cookie is good for two hours', async (t) => {
  const { client, clock } = await bench(t);
  await client.post('/api/setup/enter-code', { code: CODE });
  clock.advance(2 * 3600 + 1);
  const answer = await client.post('/api/setup/create-administrator', { name: 'ada', password: PASSWORD });
  assert.equal(answer.status, 401);
});

test('no code on the machine: said so, and no code is right', async (t) => {
  const { client, directory } = await bench(t);
  rmSync(join(directory, 'code'));
  const answer = await client.post('/api/setup/enter-code', { code: '' });
  assert.equal(answer.body.code, 'service_unavailable');
});

test('names, passwords, host names and time zones that will not do', async (t) => {
  const { client } = await bench(t);
  await client.post('/api/setup/enter-code', { code: CODE });
  const refused = async (path: string, body: unknown) => {
    const answer = await client.post(path, body);
    assert.equal(answer.status, 400, JSON.stringify(body));
    return answer.body.errors.map((error: { path: string }) => error.path);
  };
  const administrator = '/api/setup/create-administrator';
  assert.deepEqual(await refused(administrator, { name: 'Ada L', password: 'short' }), ['/name', '/password']);
  assert.deepEqual(await refused(administrator, { name: 'ada', password: '123456789' }), ['/password']);
  assert.deepEqual(await refused(administrator, { name: 'administrator', password: 'Administrator' }), ['/password']);
  await client.post(administrator, { name: 'ada', password: PASSWORD });
  for (const hostName of ['', '-a', 'a_b', 'a..b', 'a b', `${'a'.repeat(64)}.b`, 'a\nb']) {
    assert.deepEqual(await refused('/api/setup/set-identity', { hostName, timeZone: 'UTC' }), ['/hostName'], hostName);
  }
  assert.deepEqual(await refused('/api/setup/set-identity', { hostName: 'a', timeZone: 'Mars/Olympus' }), [
    '/timeZone',
  ]);
});

test('before another name is taken, the passkeys that it ends are named, and that they may end is confirmed', async (t) => {
  const { client, appliance } = await bench(t);
  await client.setUp();
  const present = (await client.get('/api/setup')).body.hostName;
  const add = (id: string, name: string, host: string) =>
    appliance.db.run(
      "INSERT INTO passkeys (id, user, name, host, credential_id, public_key, counter, transports_json, created_at) VALUES (?, 'ada', ?, ?, ?, '', 0, '[]', 1)",
      ...[id, name, host, id],
    );
  add('one', 'laptop', `${present}.local`);
  add('two', 'phone', 'elsewhere.example.org');
  const rename = (hostName: string, more: object = {}) =>
    client.post('/api/setup/set-identity', { hostName, timeZone: 'UTC', ...more });
  // The same first name is still found in its network.
  assert.equal((await rename(`${present}.example.org`)).status, 200);
  assert.equal((await rename(present)).status, 200);
  const refused = await rename('berlin');
  assert.deepEqual([refused.status, refused.body.code], [409, 'passkeys_end']);
  assert.match(refused.body.detail, new RegExp(`this one stops working: “laptop” of ada \\(${present}\\.local\\)\\.$`));
  assert.doesNotMatch(refused.body.detail, /phone/);
  assert.equal((await client.get('/api/setup')).body.hostName, present, 'nothing was done');
  assert.equal((await rename('berlin', { endPasskeys: true })).body.hostName, 'berlin');
});
