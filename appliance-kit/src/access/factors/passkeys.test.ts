import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Answer, addFactor, type Bench, bench, Client, PASSWORD } from '../../../tests/harness.ts';
import { Authenticator, type Twist } from '../../../tests/passkey.ts';

async function begun(t: Parameters<typeof bench>[0]) {
  const on = await bench(t);
  await on.client.setUp();
  return on;
}

const optionsOf = (answer: Answer) => {
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body.publicKey;
};

async function add(client: Client, key: Authenticator, name = 'laptop', twist: Twist = {}): Promise<Answer> {
  const options = optionsOf(await client.post('/api/passkeys/start', { name }));
  return client.post('/api/passkeys/finish', { name, ...key.make(options, twist) });
}

const toUse = async (client: Client, what: 'sign-in' | 'confirmation') =>
  optionsOf(await client.post(`/api/passkeys/start-use?for=${what}`));

async function signIn(client: Client, key: Authenticator, twist: Twist = {}): Promise<Answer> {
  return client.post('/api/session/use-passkey', key.use(await toUse(client, 'sign-in'), twist));
}

function refused(answer: Answer, status: number, code: string, words: RegExp): void {
  assert.deepEqual([answer.status, answer.body.code], [status, code], JSON.stringify(answer.body));
  assert.match(`${answer.body.detail} ${answer.body.action ?? ''}`, words);
}

const somebody = ({ appliance }: Bench) => new Client(appliance, '192.0.2.8');

test('a passkey is added, signs in without a password, and stands in the audit log', async (t) => {
  const on = await begun(t);
  const key = new Authenticator();
  const options = optionsOf(await on.client.post('/api/passkeys/start', { name: 'laptop' }));
  assert.deepEqual(
    [options.rp.id, options.authenticatorSelection.userVerification, options.authenticatorSelection.residentKey],
    ['cistern.test', 'required', 'required'],
  );
  const added = await on.client.post('/api/passkeys/finish', { name: 'laptop', ...key.make(options) });
  assert.equal(added.status, 200, JSON.stringify(added.body));
  assert.equal(added.body.recoveryCodes.length, 10);
  assert.deepEqual([added.body.factor.kind, added.body.factor.host], ['passkey', 'cistern.test']);
  const other = somebody(on);
  const signedIn = await signIn(other, key);
  assert.equal(signedIn.status, 200, JSON.stringify(signedIn.body));
  assert.deepEqual(signedIn.body.user, { name: 'ada', role: 'administrator' });
  assert.deepEqual([signedIn.body.passkey, signedIn.body.secondFactor, signedIn.body.app], [true, true, undefined]);
  const { items } = (await other.get('/api/factors')).body;
  assert.ok(items[0].lastUsedAt !== null);
  const log = JSON.stringify((await other.get('/api/audit-log')).body);
  assert.match(log, /"action":"factor.add".*/);
  assert.match(log, /"action":"session.create"[^}]*"passkey":"laptop"|"passkey":"laptop"/);
});

test('what is not right is refused in words, and nothing is added or signed in', async (t) => {
  const on = await begun(t);
  const key = new Authenticator();
  refused(await add(on.client, key, 'a', { origin: 'https://evil.test' }), 401, 'wrong_passkey', /another address/);
  refused(await add(on.client, key, 'a', { host: 'evil.test' }), 401, 'wrong_passkey', /another address/);
  refused(await add(on.client, key, 'a', { unverified: true }), 401, 'wrong_passkey', /did not check who uses it/);
  const options = optionsOf(await on.client.post('/api/passkeys/start', { name: 'a' }));
  const made = { name: 'a', ...key.make(options) };
  on.clock.advance(5 * 60 + 1);
  refused(await on.client.post('/api/passkeys/finish', made), 401, 'wrong_passkey', /took too long/);
  assert.deepEqual((await on.client.get('/api/factors')).body.items, []);
  assert.equal((await add(on.client, key)).status, 200);
  refused(await add(on.client, key, 'again'), 409, 'conflict', /added before/);
  refused(await on.client.post('/api/passkeys/start', { name: 'laptop' }), 409, 'conflict', /already/);

  const other = somebody(on);
  const stranger = new Authenticator();
  stranger.make({ challenge: '', rp: { id: 'cistern.test' }, user: { id: '' } });
  refused(await signIn(other, stranger), 401, 'wrong_passkey', /does not know/);
  refused(await signIn(other, key, { origin: 'https://evil.test' }), 401, 'wrong_passkey', /another address/);
  refused(await signIn(other, key, { host: 'evil.test' }), 401, 'wrong_passkey', /another address/);
  refused(await signIn(other, key, { unverified: true }), 401, 'wrong_passkey', /did not check/);
  const asked = await toUse(other, 'sign-in');
  const { signature, ...rest } = key.use(asked);
  const broken = Buffer.from(signature, 'base64url').fill(1, 40).toString('base64url');
  refused(await other.post('/api/session/use-passkey', { ...rest, signature: broken }), 401, 'wrong_passkey', /signed/);
  const given = key.use(asked);
  assert.equal((await other.post('/api/session/use-passkey', given)).status, 200);
  refused(await other.post('/api/session/use-passkey', given), 401, 'wrong_passkey', /given before/);
  refused(await signIn(other, key, { counter: 1 }), 401, 'wrong_passkey', /copy of it/);
  const forConfirmation = key.use(await toUse(on.client, 'confirmation'));
  refused(await other.post('/api/session/use-passkey', forConfirmation), 401, 'wrong_passkey', /took too long/);
});

test('under an address there is none, and the reason is said', async (t) => {
  const on = await begun(t);
  const at = (host: string) => ({ headers: { host, origin: `https://${host}` } });
  for (const host of ['192.0.2.1', '192.0.2.1:8443', '[2001:db8::1]']) {
    refused(
      await on.client.post('/api/passkeys/start', { name: 'a' }, at(host)),
      409,
      'conflict',
      /host name.*address/,
    );
    refused(
      await on.client.post('/api/passkeys/start-use?for=sign-in', undefined, at(host)),
      409,
      'conflict',
      /address/,
    );
  }
  // With a port the host name is the same, and the origin another.
  const options = optionsOf(await on.client.post('/api/passkeys/start', { name: 'a' }, at('cistern.test:8443')));
  assert.equal(options.rp.id, 'cistern.test');
  const key = new Authenticator('https://cistern.test:8443');
  const made = await on.client.post(
    '/api/passkeys/finish',
    { name: 'a', ...key.make(options) },
    at('cistern.test:8443'),
  );
  assert.equal(made.status, 200, JSON.stringify(made.body));
});

test('it confirms, changes the password, and satisfies the rule for administrators', async (t) => {
  const on = await begun(t);
  const { client, clock } = on;
  const key = new Authenticator();
  const added = await add(client, key);
  assert.equal((await client.put('/api/second-factor-policy', { requiredFrom: '2020-01-01T00:00:00Z' })).status, 200);
  assert.equal((await client.get('/api/session')).body.mustAddFactor, undefined);
  clock.advance(6 * 60);
  client.password = null;
  const demand = () => client.post('/api/recovery-codes');
  refused(await demand(), 403, 'confirmation_required', /./);
  const passkey = key.use(await toUse(client, 'confirmation'));
  refused(
    await client.post('/api/session/confirm', { passkey, password: PASSWORD }),
    400,
    'invalid_request',
    /one of three/,
  );
  assert.equal((await client.post('/api/session/confirm', { passkey })).status, 200);
  assert.equal((await demand()).status, 201);

  const change = { currentPassword: PASSWORD, newPassword: 'violet tractor umbrella' };
  refused(
    await client.post('/api/session/change-password', change),
    401,
    'second_factor_required',
    /recovery code; with your passkey/,
  );
  const again = key.use(await toUse(client, 'confirmation'));
  assert.equal((await client.post('/api/session/change-password', { ...change, passkey: again })).status, 200);

  const other = somebody(on);
  const withPassword = { user: 'ada', password: change.newPassword };
  refused(await other.post('/api/session', withPassword), 401, 'second_factor_required', /recovery code/);
  refused(
    await other.post('/api/session', { ...withPassword, code: added.body.recoveryCodes[0] }),
    ...([401, 'wrong_code', /wrong/] as const),
  );
});

test("somebody else's passkey confirms nothing, and a disabled or removed one signs nobody in", async (t) => {
  const on = await begun(t);
  const { client } = on;
  const key = new Authenticator();
  await add(client, key);
  const made = await client.post('/api/users', { name: 'bob', role: 'viewer' });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const bob = somebody(on);
  await bob.post('/api/session', { user: 'bob', password: made.body.password });
  const own = 'purple engine window';
  await bob.post('/api/session/change-password', { currentPassword: made.body.password, newPassword: own });
  bob.password = own;
  const bobs = new Authenticator();
  assert.equal((await add(bob, bobs, 'phone')).status, 200);
  const passkey = bobs.use(await toUse(client, 'confirmation'));
  refused(await client.post('/api/session/confirm', { passkey }), 401, 'wrong_passkey', /as yours/);

  assert.equal((await client.put('/api/users/bob', { role: 'viewer', disabled: true })).status, 200);
  refused(await signIn(somebody(on), bobs), 403, 'account_disabled', /disabled/);
  await client.put('/api/users/bob', { role: 'viewer', disabled: false });
  assert.equal((await signIn(somebody(on), bobs)).status, 200);
  assert.equal((await client.post('/api/users/bob/clear-factors')).status, 204);
  refused(await signIn(somebody(on), bobs), 401, 'wrong_passkey', /does not know/);
});

test('supportd is told that there are passkeys, and which recovery codes stand for them', async (t) => {
  const on = await begun(t);
  const read = () => JSON.parse(readFileSync(join(on.directory, 'state', 'administrators.json'), 'utf8'))[0];
  await add(on.client, new Authenticator());
  assert.deepEqual([read().passkeys, read().factors, read().recoveryHashes.length], [1, [], 10]);
  const app = await addFactor(on);
  assert.equal(app.recoveryCodes, null, 'there are some already');
  assert.deepEqual([read().passkeys, read().factors.length], [1, 1]);
});
