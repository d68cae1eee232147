import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Answer, addFactor, type Bench, bench, Client, eventually, PASSWORD } from '../../../tests/harness.ts';
import { silentLog } from '../../base/log.ts';
import { openSeal } from '../../state/sealed.ts';
import { FREE_GUESSES } from '../session/throttle.ts';
import { recoveryHash } from './recovery-codes.ts';

const STEP = 30;
const NEW = 'violet tractor umbrella';

async function withFactor(t: TestContext) {
  const on = await bench(t, { start: true });
  await on.client.setUp();
  const app = await addFactor(on);
  on.clock.advance(STEP);
  return { ...on, app };
}

const signIn = (client: Client, more: object = {}) =>
  client.post('/api/session', { user: 'ada', password: PASSWORD, ...more });
const refused = (answer: Answer, status: number, code: string, detail?: RegExp) => {
  assert.deepEqual([answer.status, answer.body.code], [status, code], JSON.stringify(answer.body));
  if (detail) assert.match(`${answer.body.detail} ${answer.body.action}`, detail);
};

/** What akd told supportd, once it has been written. */
const told = ({ directory }: Bench) =>
  JSON.parse(readFileSync(join(directory, 'state', 'administrators.json'), 'utf8'));

test('an app is added by a code that it shows; nothing is asked for before', async (t) => {
  const on = await bench(t);
  const { client, clock, appliance } = on;
  await client.setUp();
  const started = await client.post('/api/factors/start', { name: 'phone' });
  assert.match(started.body.secret, /^[A-Z2-7]{32}$/);
  assert.match(
    started.body.url,
    /^otpauth:\/\/totp\/Cistern%20cistern:ada\?secret=[A-Z2-7]{32}&issuer=Cistern%20cistern&/,
  );
  assert.deepEqual((await client.get('/api/factors')).body, { items: [], recoveryCodesLeft: 0 });
  assert.equal((await signIn(new Client(appliance))).status, 200, 'not before it is finished');
  const wrong = await client.post(`/api/factors/${started.body.id}/finish`, { code: '000000' });
  refused(wrong, 400, 'invalid_request', /not what the app shows.*time of the phone/s);
  assert.equal(wrong.body.errors[0].path, '/code');
  clock.advance(15 * 60);
  refused(await client.post(`/api/factors/${started.body.id}/finish`, { code: '000000' }), 404, 'not_found', /anew/);

  const elsewhere = new Client(appliance, '192.0.2.8');
  await signIn(elsewhere);
  const app = await addFactor(on);
  assert.equal(app.recoveryCodes?.length, 10);
  for (const code of app.recoveryCodes ?? []) assert.match(code, /^[a-z2-9]{4}(-[a-z2-9]{4}){3}$/);
  assert.equal((await elsewhere.get('/api/status')).status, 401, 'other sessions end with the first factor');
  assert.equal((await client.get('/api/session')).body.secondFactor, true);
  const { items, recoveryCodesLeft } = (await client.get('/api/factors')).body;
  assert.deepEqual([items.length, items[0].name, items[0].lastUsedAt, recoveryCodesLeft], [1, 'phone', null, 10]);
  assert.equal((await client.get('/api/users/ada')).body.secondFactor, true);

  refused(await client.post('/api/factors/start', { name: 'phone' }), 409, 'conflict', /phone already/);
  const second = await addFactor(on, 'tablet');
  assert.equal(second.recoveryCodes, null, 'they go on');
  const bob = (await client.post('/api/users', { name: 'bob', role: 'viewer' })).body;
  const his = new Client(appliance);
  await his.post('/api/session', { user: 'bob', password: bob.password });
  await his.post('/api/session/change-password', { currentPassword: bob.password, newPassword: NEW });
  const begun = await client.post('/api/factors/start', { name: 'third' });
  his.password = NEW;
  refused(await his.post(`/api/factors/${begun.body.id}/finish`, { code: '000000' }), 404, 'not_found');
  refused(await his.delete(`/api/factors/${app.id}`), 404, 'not_found');
});

test('no app is added while the clock is not synchronised', async (t) => {
  const { client, simulation } = await bench(t);
  await client.setUp();
  await simulation.simulate('time', { synchronised: false, source: null });
  const { status, body } = await client.post('/api/factors/start', { name: 'phone' });
  assert.equal(status, 409);
  assert.match(body.detail, /clock of the appliance is not synchronised/);
  assert.match(body.action, /time server/);
});

test('signing in needs a code after the right password, and each code is good once', async (t) => {
  const { appliance, clock, app, client } = await withFactor(t);
  const browser = new Client(appliance, '192.0.2.8');
  const without = await signIn(browser);
  refused(without, 401, 'second_factor_required', /password is right/);
  assert.equal(browser.cookies.size, 0, 'no session, and the browser is not known');
  refused(
    await browser.post('/api/session', { user: 'ada', password: 'x', code: app.code() }),
    401,
    'wrong_credentials',
  );
  const code = app.code();
  const answer = await signIn(browser, { code: `${code.slice(0, 3)} ${code.slice(3)}` });
  assert.deepEqual([answer.status, answer.body.secondFactor], [200, true]);
  refused(await signIn(new Client(appliance), { code }), 401, 'wrong_code', /used before/);
  refused(await signIn(new Client(appliance), { code: app.code(-1) }), 401, 'wrong_code', /used before/);
  refused(await signIn(new Client(appliance), { code: app.code(2) }), 401, 'wrong_code', /code is wrong/);
  assert.equal((await signIn(new Client(appliance), { code: app.code(1) })).status, 200, 'one step ahead');
  clock.advance(2 * STEP);
  assert.equal((await signIn(new Client(appliance), { code: app.code() })).status, 200);
  // A program is not asked.
  const { token } = (await client.post('/api/tokens', { name: 'script', role: 'administrator' })).body;
  const headers = { authorization: `Bearer ${token}` };
  assert.equal((await new Client(appliance).get('/api/users', { headers })).status, 200);
});

test('two at the same moment with the same code: one gets in', async (t) => {
  const { appliance, app } = await withFactor(t);
  const code = app.code();
  const both = await Promise.all(
    ['192.0.2.8', '192.0.2.9'].map((from) => signIn(new Client(appliance, from), { code })),
  );
  assert.deepEqual(both.map(({ status }) => status).sort(), [200, 401]);
});

test('a recovery code stands for the app once, never for the password, and is in the audit log', async (t) => {
  const { appliance, app, client } = await withFactor(t);
  const [first, second] = app.recoveryCodes as [string, string];
  refused(
    await new Client(appliance).post('/api/session', { user: 'ada', password: first, code: second }),
    401,
    'wrong_credentials',
  );
  const typed = first.toUpperCase().replaceAll('-', ' ');
  assert.equal((await signIn(new Client(appliance, '192.0.2.8'), { code: typed })).status, 200);
  refused(await signIn(new Client(appliance), { code: first }), 401, 'wrong_code', /used before/);
  refused(await signIn(new Client(appliance), { code: 'aaaa-bbbb-cccc-dddd' }), 401, 'wrong_code', /code is wrong/);
  assert.equal((await client.get('/api/factors')).body.recoveryCodesLeft, 9);
  const entry = (await client.get('/api/audit-log')).body.items.find(
    ({ action }: { action: string }) => action === 'recovery-code.use',
  );
  assert.deepEqual([entry.user, entry.address, entry.after], ['ada', '192.0.2.8', { at: 'sign-in', left: 9 }]);
  const { codes } = (await client.post('/api/recovery-codes')).body;
  assert.equal(codes.length, 10);
  refused(await signIn(new Client(appliance), { code: second }), 401, 'wrong_code', /code is wrong/);
  assert.equal((await signIn(new Client(appliance), { code: codes[9] })).status, 200);
});

test('wrong codes wait as wrong passwords do, and leaving the code out gives no fresh guesses', async (t) => {
  const { appliance, app, client } = await withFactor(t);
  const guesser = new Client(appliance, '203.0.113.5');
  for (let n = 0; n < FREE_GUESSES; n++) {
    if (n === 4) refused(await signIn(guesser), 401, 'second_factor_required');
    else refused(await signIn(guesser, { code: app.code(5 + n) }), 401, 'wrong_code');
  }
  refused(await signIn(guesser, { code: app.code() }), 429, 'locked_out');
  assert.equal((await signIn(new Client(appliance, '192.0.2.9'), { code: app.code() })).status, 200, 'nobody else');
  const locked = (await client.get('/api/alerts?state=all')).body.items.filter(
    ({ class: kind }: { class: string }) => kind === 'signin.locked',
  );
  assert.equal(locked.length, 1);
});

test('a confirmation takes the password or a code of the app; changing the password takes both', async (t) => {
  const { client, clock, app } = await withFactor(t);
  client.password = null;
  clock.advance(301);
  refused(await client.post('/api/recovery-codes'), 403, 'confirmation_required');
  refused(await client.post('/api/session/confirm', { code: app.recoveryCodes?.[0] }), 401, 'wrong_code');
  for (const body of [{}, { password: PASSWORD, code: app.code() }])
    refused(await client.post('/api/session/confirm', body), 400, 'invalid_request', /one of three/);
  const code = app.code();
  assert.equal((await client.post('/api/session/confirm', { code })).status, 200);
  assert.equal((await client.post('/api/recovery-codes')).status, 201);
  refused(await client.post('/api/session/confirm', { code }), 401, 'wrong_code', /used before/);
  clock.advance(301);
  assert.equal((await client.post('/api/session/confirm', { password: PASSWORD })).status, 200);

  const change = { currentPassword: PASSWORD, newPassword: NEW };
  const path = '/api/session/change-password';
  refused(await client.post(path, change), 401, 'second_factor_required');
  refused(await client.post(path, { ...change, code: '000000' }), 401, 'wrong_code');
  assert.equal((await client.post(path, { ...change, code: app.code() })).status, 200);
});

test('who signed in by a one-time password and a code changes it without a second code, for five minutes', async (t) => {
  const { client, appliance, clock, app } = await withFactor(t);
  const other = (await client.post('/api/users', { name: 'eve', role: 'administrator' })).body;
  const eve = new Client(appliance, '192.0.2.9');
  await eve.post('/api/session', { user: 'eve', password: other.password });
  await eve.post('/api/session/change-password', { currentPassword: other.password, newPassword: NEW });
  const { password } = (await eve.post('/api/users/ada/reset-password')).body;
  const back = new Client(appliance, '192.0.2.7');
  refused(await back.post('/api/session', { user: 'ada', password }), 401, 'second_factor_required');
  assert.equal(
    (await back.post('/api/session', { user: 'ada', password, code: app.code() })).body.mustChangePassword,
    true,
  );
  clock.advance(301);
  const change = { currentPassword: password, newPassword: 'lamp sailor ninety' };
  refused(await back.post('/api/session/change-password', change), 401, 'second_factor_required');
  assert.equal((await back.post('/api/session', { user: 'ada', password, code: app.code() })).status, 200);
  assert.equal((await back.post('/api/session/change-password', change)).status, 200);
});

test('factors are demanded of administrators from a date on, by one who has one', async (t) => {
  const on = await bench(t);
  const { client, appliance, clock } = on;
  await client.setUp();
  const from = new Date(clock.now() + 3600_000).toISOString();
  const demand = (requiredFrom: string | null) => client.put('/api/second-factor-policy', { requiredFrom });
  refused(await demand(from), 409, 'conflict', /has a second factor.*profile/s);
  const { token } = (await client.post('/api/tokens', { name: 'script', role: 'administrator' })).body;
  const headers = { authorization: `Bearer ${token}` };
  refused(
    await new Client(appliance).put('/api/second-factor-policy', { requiredFrom: from }, { headers }),
    409,
    'conflict',
  );
  const app = await addFactor(on);
  refused(await demand('next week'), 400, 'invalid_request', /must be a time/);
  const made = (await client.post('/api/users', { name: 'eve', role: 'administrator' })).body;
  assert.deepEqual((await demand(from)).body.administratorsWithout, ['eve']);
  const eve = new Client(appliance, '192.0.2.9');
  eve.password = NEW;
  await eve.post('/api/session', { user: 'eve', password: made.password });
  await eve.post('/api/session/change-password', { currentPassword: made.password, newPassword: NEW });
  assert.equal((await eve.get('/api/users')).status, 200, 'not before that time');
  await eventually(() =>
    assert.equal(told(on).find(({ name }: { name: string }) => name === 'eve').factorRequiredFrom, from),
  );

  clock.advance(3600);
  for (const path of ['/api/users', '/api/status', '/api/sessions'])
    refused(await eve.get(path), 403, 'factor_addition_required');
  const headersOfNginx = { 'x-original-method': 'GET', 'x-original-uri': '/api/v1/query' };
  refused(await eve.get('/internal/authorize', { headers: headersOfNginx }), 403, 'factor_addition_required');
  assert.equal((await eve.get('/api/session')).body.mustAddFactor, true);
  assert.equal((await client.get('/api/users')).status, 200);
  assert.equal((await new Client(appliance).get('/api/users', { headers })).status, 200, 'a token is exempt');
  refused(await client.delete(`/api/factors/${app.id}`), 409, 'conflict', /only one/);
  await addFactor({ client: eve, clock });
  assert.equal((await eve.get('/api/session')).body.mustAddFactor, undefined);
  assert.equal((await eve.get('/api/users')).status, 200);

  // No other role is asked.
  const viewer = (await client.post('/api/users', { name: 'vic', role: 'viewer' })).body;
  const vic = new Client(appliance, '192.0.2.9');
  await vic.post('/api/session', { user: 'vic', password: viewer.password });
  await vic.post('/api/session/change-password', { currentPassword: viewer.password, newPassword: NEW });
  assert.equal((await vic.get('/api/status')).status, 200);
  refused(await vic.get('/api/second-factor-policy'), 403, 'forbidden');
  assert.equal((await demand(null)).status, 200);
  assert.equal((await client.delete(`/api/factors/${app.id}`)).status, 204);
  assert.deepEqual((await client.get('/api/factors')).body, { items: [], recoveryCodesLeft: 0 });
  assert.equal((await signIn(new Client(appliance))).status, 200);
});

test('an administrator clears the factors of somebody who lost them; sessions end', async (t) => {
  const { client, appliance, app } = await withFactor(t);
  const made = (await client.post('/api/users', { name: 'eve', role: 'administrator' })).body;
  const eve = new Client(appliance, '192.0.2.9');
  eve.password = NEW;
  await eve.post('/api/session', { user: 'eve', password: made.password });
  await eve.post('/api/session/change-password', { currentPassword: made.password, newPassword: NEW });
  refused(await client.post('/api/users/ada/clear-factors'), 409, 'conflict', /your own/);
  refused(await eve.post('/api/users/nobody/clear-factors'), 404, 'not_found');
  assert.equal((await eve.post('/api/users/ada/clear-factors')).status, 204);
  assert.equal((await client.get('/api/status')).status, 401);
  assert.equal((await eve.get('/api/users/ada')).body.secondFactor, false);
  assert.equal((await signIn(client)).status, 200);
  const entry = (await eve.get('/api/audit-log')).body.items.find(
    ({ action }: { action: string }) => action === 'factor.clear',
  );
  assert.deepEqual([entry.user, entry.target, entry.before], ['eve', 'ada', { factors: 1 }]);
  assert.equal((await client.get('/api/factors')).body.recoveryCodesLeft, 0);
  assert.ok(app.id);
});

test('what was used at the sign-in of supportd is good for nothing here, also after a restart', async (t) => {
  const on = await withFactor(t);
  const { directory, app, clock, client } = on;
  const [first, second] = app.recoveryCodes as [string, string];
  const file = join(directory, 'support', 'used-factors.json');
  mkdirSync(join(directory, 'support'));
  const use = (content: object) => writeFileSync(file, JSON.stringify({ version: 1, ...content }));
  const used = (code: string) => ({ user: 'ada', hash: recoveryHash('ada', code), from: '198.51.100.7' });
  use({ steps: {}, recoveryCodes: [used(first)] });
  refused(await signIn(new Client(on.appliance), { code: first }), 401, 'wrong_code', /used before/);
  const entry = (await client.get('/api/audit-log')).body.items.find(
    ({ action }: { action: string }) => action === 'recovery-code.use',
  );
  assert.deepEqual([entry.user, entry.address, entry.after], ['ada', '198.51.100.7', { at: 'support', left: 9 }]);

  const step = Math.floor(clock.now() / 1000 / STEP);
  use({ steps: { [app.id]: step, another: 1 }, recoveryCodes: [used(first), used(second)] });
  const again = await on.restart();
  refused(await signIn(new Client(again.appliance), { code: app.code() }), 401, 'wrong_code', /used before/);
  await eventually(() => {
    const [ada] = told(again);
    assert.equal(ada.factors[0].lastStep, step);
    assert.equal(ada.recoveryHashes.length, 8);
  });
  for (const damaged of ['', '{"version":2}', '[]']) {
    writeFileSync(file, damaged);
    assert.equal((await signIn(new Client(again.appliance), { code: app.code(1) })).status, 200, 'nobody is kept out');
    clock.advance(STEP);
  }
});

test('supportd is told what codes are checked with; nothing of it is readable', async (t) => {
  const on = await withFactor(t);
  const { app, appliance, directory } = on;
  await eventually(() => {
    const [ada] = told(on);
    assert.deepEqual(Object.keys(ada), ['name', 'passwordHash', 'factors', 'recoveryHashes']);
    assert.deepEqual(ada.recoveryHashes, app.recoveryCodes?.map((code) => recoveryHash('ada', code)).sort());
    assert.equal(ada.factors[0].id, app.id);
  });
  appliance.db.get('PRAGMA wal_checkpoint(TRUNCATE)');
  const text = ['state.db', 'administrators.json'].map((name) =>
    readFileSync(join(directory, 'state', name), 'latin1'),
  );
  const row = appliance.db.get('SELECT * FROM factors');
  const seed = openSeal(join(directory, 'state'), silentLog).open(
    ['factor', 'ada', app.id],
    row?.sealed_secret as string,
  );
  assert.equal(seed?.length, 20);
  for (const secret of [...(app.recoveryCodes ?? []), seed?.toString('latin1') as string])
    for (const one of text) assert.ok(!one.includes(secret));
});

test('a secret that cannot be opened any more leaves the recovery codes', async (t) => {
  const on = await withFactor(t);
  writeFileSync(join(on.directory, 'state', 'secrets.key'), Buffer.alloc(32, 1));
  const { appliance } = await on.restart();
  refused(await signIn(new Client(appliance), { code: on.app.code() }), 401, 'wrong_code');
  assert.equal((await signIn(new Client(appliance), { code: on.app.recoveryCodes?.[3] })).status, 200);
});

test('the hash of a recovery code is the one that supportd makes', () => {
  const sum = 'd3768bad28257fa42390b48f6e8bc4b8a2cc635795e747c865cb27433d1dc7b2';
  for (const code of ['abcd-efgh-jkmn-pqrs', 'ABCD EFGH JKMN PQRS', 'abcdefghjkmnpqrs'])
    assert.equal(recoveryHash('ada', code), sum);
  assert.notEqual(recoveryHash('bob', 'abcd-efgh-jkmn-pqrs'), sum);
});
