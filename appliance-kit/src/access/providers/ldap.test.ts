// Directories, against Debian's OpenLDAP.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Attribute, Change, Client as LdapClient } from 'ldapts';
import { signed } from '../../../tests/certificates.ts';
import { type Answer, addFactor, type Bench, bench, Client, eventually, PASSWORD } from '../../../tests/harness.ts';
import { group, person, READER, ROOT, type Slapd, SUFFIX, slapd } from '../../../tests/slapd.ts';
import { escaped } from './ldap.ts';
import { roleOf } from './roles.ts';

const settings = (directory: Slapd, more: object = {}) => ({
  ...{ name: 'Example', kind: 'ldap', enabled: true, otherwise: null },
  roles: [
    { group: group('viewers'), role: 'viewer' },
    { group: 'operators', role: 'operator' },
    { group: 'CN=admins, OU=groups,DC=example, DC=test', role: 'administrator' },
  ],
  ldap: {
    ...{ urls: [directory.ldaps], bindDn: READER.dn, bindPassword: READER.password, baseDn: `ou=people,${SUFFIX}` },
    ...{ userFilter: '(uid={name})', nameAttribute: 'uid', subjectAttribute: 'entryUUID' },
    ...{ groupBaseDn: `ou=groups,${SUFFIX}`, nested: 'walk', ca: directory.identity.ca },
    ...more,
  },
});

async function withDirectory(t: Parameters<typeof bench>[0], more: (directory: Slapd) => object = () => ({})) {
  const directory = await slapd(t);
  const on = await bench(t);
  await on.client.setUp();
  const made = await on.client.post('/api/providers', settings(directory, more(directory)));
  assert.equal(made.status, 201, JSON.stringify(made.body));
  return { ...on, slapd: directory, provider: made.body.id as string };
}

const signIn = (
  on: Bench & { provider: string },
  user: string,
  password: string,
  more: object = {},
  from = '192.0.2.9',
) => {
  const client = new Client(on.appliance, from);
  client.password = password;
  return client
    .post('/api/session', { user, password, provider: on.provider, ...more })
    .then((answer) => ({ client, answer }));
};

function refused(answer: Answer, status: number, code: string, words: RegExp): void {
  assert.deepEqual([answer.status, answer.body.code], [status, code], JSON.stringify(answer.body));
  assert.match(`${answer.body.detail} ${answer.body.action ?? ''}`, words);
}

/** As the directory's own administrator. */
async function change(directory: Slapd, dn: string, operation: 'add' | 'delete', member: string): Promise<void> {
  const client = new LdapClient({ url: directory.ldaps, tlsOptions: { ca: directory.identity.ca } });
  await client.bind(ROOT.dn, ROOT.password);
  await client.modify(dn, new Change({ operation, modification: new Attribute({ type: 'member', values: [member] }) }));
  await client.unbind();
}

test('people of a directory appear with the role of their groups, and keep it as long as the directory says so', async (t) => {
  const on = await withDirectory(t);
  const bob = await signIn(on, 'bob', 'bob-secret');
  assert.equal(bob.answer.status, 200, JSON.stringify(bob.answer.body));
  assert.deepEqual(bob.answer.body.user, { name: 'bob', role: 'viewer' });
  assert.deepEqual(bob.answer.body.provider, { id: on.provider, kind: 'ldap' });
  const carol = await signIn(on, 'carol', 'carol-secret');
  assert.equal(carol.answer.body.user.role, 'operator', 'by a group within a group');
  refused((await signIn(on, 'dave', 'dave-secret')).answer, 403, 'account_disabled', /dave is in no group of Example/);
  // The name is a local user's already.
  const ada = await signIn(on, 'ada', 'ada-secret');
  assert.deepEqual(ada.answer.body.user, { name: 'ada@Example', role: 'administrator' });

  const users = (await on.client.get('/api/users')).body.items as { name: string; provider: string | null }[];
  assert.deepEqual(
    users.map(({ name, provider }) => [name, provider === null]),
    [
      ['ada', true],
      ['ada@Example', false],
      ['bob', false],
      ['carol', false],
    ],
  );
  assert.equal((await on.client.get(`/api/providers/${on.provider}`)).body.users, 3);

  await change(on.slapd, group('operators'), 'add', person('bob'));
  const again = await signIn(on, 'bob', 'bob-secret');
  assert.equal(again.answer.body.user.role, 'operator');
  await change(on.slapd, group('viewers'), 'add', person('dave'));
  await change(on.slapd, group('operators'), 'delete', person('bob'));
  await change(on.slapd, group('viewers'), 'delete', person('bob'));
  refused((await signIn(on, 'bob', 'bob-secret')).answer, 403, 'account_disabled', /in no group/);
  const log = (await on.client.get('/api/audit-log')).body.items.map((one: { action: string }) => one.action);
  for (const action of ['user.appear', 'user.update', 'provider.create']) assert.ok(log.includes(action), action);
});

test('wrong passwords, empty ones and names with wildcards sign nobody in', async (t) => {
  const on = await withDirectory(t);
  for (const [user, password] of [
    ['bob', 'wrong'],
    ['bob', ''],
    ['nobody', 'x'],
    ['b*', 'bob-secret'],
    ['*', 'x'],
    ['bob)(uid=*', 'x'],
  ] as const) {
    const { answer } = await signIn(on, user, password);
    refused(answer, 401, 'wrong_credentials', /name or the password is wrong/);
  }
  assert.equal(escaped('a*(b)\\\0'), 'a\\2a\\28b\\29\\5c\\00');
  const { answer } = await signIn(on, 'e*e', 'e*e-secret');
  refused(answer, 403, 'account_disabled', /in no group/);
  // Local passwords are not asked of the directory, nor the reverse.
  const { answer: local } = await signIn(on, 'ada', PASSWORD);
  refused(local, 401, 'wrong_credentials', /wrong/);
  refused(
    await new Client(on.appliance, '192.0.2.10').post('/api/session', { user: 'ada', password: 'ada-secret' }),
    401,
    'wrong_credentials',
    /wrong/,
  );
});

test('guesses at a directory are throttled as those at local passwords', async (t) => {
  const on = await withDirectory(t);
  let last: Answer | undefined;
  for (let n = 0; n < 12; n++) last = (await signIn(on, 'bob', `wrong ${n}`)).answer;
  refused(last as Answer, 429, 'locked_out', /too many failed/);
  const { answer } = await signIn(on, 'bob', 'bob-secret', {}, '192.0.2.77');
  assert.equal(answer.status, 200, 'from elsewhere');
});

test('StartTLS does as well, several addresses are asked in turn, and nothing goes over the wire in clear', async (t) => {
  const on = await withDirectory(t, ({ ldap }) => ({ urls: ['ldaps://127.0.0.1:1', ldap] }));
  const { answer } = await signIn(on, 'bob', 'bob-secret');
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  const bad = settings(on.slapd, { urls: ['http://a.test', 'ldaps://u:p@a.test', 'ldaps://a.test/x?y'] });
  const refusal = await on.client.post('/api/providers', { ...bad, name: 'Other' });
  assert.deepEqual(
    refusal.body.errors.map(({ path }: { path: string }) => path),
    ['/ldap/urls/0', '/ldap/urls/1', '/ldap/urls/2'],
  );
});

test('a directory that is down, slow or somebody else is said; local accounts sign in meanwhile', async (t) => {
  const on = await withDirectory(t);
  on.slapd.pause();
  const slow = signIn(on, 'bob', 'bob-secret');
  const started = performance.now();
  const local = await new Client(on.appliance, '192.0.2.11').post('/api/session', { user: 'ada', password: PASSWORD });
  assert.equal(local.status, 200);
  assert.ok(performance.now() - started < 5_000, 'it has waited for the directory');
  refused((await slow).answer, 503, 'service_unavailable', /cannot be reached.*in time.*Local accounts work/s);
  on.slapd.resume();
  await eventually(async () => assert.equal((await signIn(on, 'bob', 'bob-secret')).answer.status, 200));

  const change = async (more: object) => {
    const answer = await on.client.put(`/api/providers/${on.provider}`, settings(on.slapd, more));
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
  };
  await change({ ca: signed(['IP:127.0.0.1']).ca });
  refused((await signIn(on, 'bob', 'bob-secret')).answer, 503, 'service_unavailable', /certificate is not believed/);
  await change({ urls: [on.slapd.ldaps.replace('127.0.0.1', '127.0.0.2')] });
  refused((await signIn(on, 'bob', 'bob-secret')).answer, 503, 'service_unavailable', /Nothing listens|another name/);
  await on.slapd.stop();
  await change({});
  refused((await signIn(on, 'bob', 'bob-secret')).answer, 503, 'service_unavailable', /Nothing listens there/);
});

test('the test shows the whole exchange, without secrets, and what to do', async (t) => {
  const on = await withDirectory(t);
  const tried = async (more: object, rest: object = {}) => {
    const provider = settings(on.slapd, more);
    const answer = await on.client.post('/api/providers/test', { id: on.provider, provider, ...rest });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    for (const secret of [READER.password, 'bob-secret']) assert.ok(!JSON.stringify(answer.body).includes(secret));
    const said = answer.body.steps.map((one: { ok: boolean; what: string; found: string; action?: string }) =>
      [one.ok ? 'ok' : 'NO', one.what, one.found, one.action ?? ''].join(' | '),
    );
    return { ok: answer.body.ok as boolean, said: said.join('\n') as string };
  };
  const { bindPassword: _, ...kept } = settings(on.slapd).ldap;
  const good = await tried({ ...kept, bindPassword: undefined }, { user: 'carol', password: 'carol-secret' });
  assert.equal(good.ok, true, good.said);
  for (const part of [
    /Connect to ldaps/,
    /Sign in as cn=reader/,
    /Search for \(uid=carol\)/,
    /Found uid=carol/,
    /The password is right/,
    /night shift.*operators/,
    /carol would be operator/,
  ])
    assert.match(good.said, part);
  const { said: wrong } = await tried({ bindPassword: 'wrong' });
  assert.match(wrong, /NO \| Sign in as cn=reader.*refused: .*credentials.*Check the distinguished name/i);
  assert.match(
    (await tried({ userFilter: '(uid={name}x)' }, { user: 'bob' })).said,
    /NO \| Search for .*Nobody is found/,
  );
  assert.match(
    (await tried({ userFilter: '(|(uid={name})(uid=ada))' }, { user: 'bob' })).said,
    /More than one is found/,
  );
  assert.match(
    (await tried({ subjectAttribute: 'objectGUID' }, { user: 'bob' })).said,
    /NO \| Read the user .*no objectGUID/,
  );
  assert.match(
    (await tried({}, { user: 'bob', password: 'wrong' })).said,
    /NO \| Sign in as uid=bob.*Check the password/,
  );
  assert.match((await tried({}, { user: 'dave' })).said, /NO \| Look for the role.*in no group/);
});

test('external users have no password here; their own factors, confirmations, disabling and removal work', async (t) => {
  const on = await withDirectory(t);
  const { client, clock } = on;
  const carol = (await signIn(on, 'carol', 'carol-secret')).client;
  refused(
    await carol.post('/api/session/change-password', {
      currentPassword: 'carol-secret',
      newPassword: 'violet tractor umbrella',
    }),
    409,
    'conflict',
    /no password here/,
  );
  refused(await client.post('/api/users/carol/reset-password'), 409, 'conflict', /no password here/);
  clock.advance(6 * 60);
  carol.password = null;
  refused(await carol.post('/api/tokens', { name: 't', role: 'viewer' }), 403, 'confirmation_required', /./);
  refused(await carol.post('/api/session/confirm', { password: 'wrong' }), 401, 'wrong_credentials', /wrong/);
  assert.equal((await carol.post('/api/session/confirm', { password: 'carol-secret' })).status, 200);
  const app = await addFactor({ client: carol, clock });
  refused((await signIn(on, 'carol', 'carol-secret')).answer, 401, 'second_factor_required', /code/);
  assert.equal((await signIn(on, 'carol', 'carol-secret', { code: app.code(1) })).answer.status, 200);

  clock.advance(12 * 3600 + 1);
  assert.equal((await carol.get('/api/session')).body.user, null, 'sessions end after half a day');
  await client.post('/api/session', { user: 'ada', password: PASSWORD });
  await client.put('/api/users/carol', { role: 'operator', disabled: true });
  refused(
    (await signIn(on, 'carol', 'carol-secret', { code: app.code(2) })).answer,
    403,
    'account_disabled',
    /disabled/,
  );
  const bob = (await signIn(on, 'bob', 'bob-secret')).client;
  assert.equal((await bob.get('/api/session')).body.user.name, 'bob');
  assert.equal((await client.delete(`/api/providers/${on.provider}`)).status, 204);
  assert.equal((await bob.get('/api/session')).body.user, null);
  const left = (await client.get('/api/users/bob')).body;
  assert.equal(left.disabled, true);
  const offered = (await new Client(on.appliance).get('/api/offered-providers')).body.items;
  assert.deepEqual(offered, []);
});

test('the last local administrator is not the last but one by an external one', async (t) => {
  const on = await withDirectory(t);
  await signIn(on, 'ada', 'ada-secret');
  const answer = await on.client.put('/api/users/ada', { role: 'viewer', disabled: false });
  refused(answer, 409, 'last_administrator', /only administrator/);
});

test('stored secrets stay: not answered, not in clear on disk, not sent to another host', async (t) => {
  const on = await withDirectory(t);
  const shown = (await on.client.get(`/api/providers/${on.provider}`)).body;
  assert.equal(shown.ldap.bindPasswordSet, true);
  assert.ok(!JSON.stringify(shown).includes(READER.password));
  const row = on.appliance.db.get('SELECT settings_json FROM providers');
  assert.ok(!JSON.stringify(row).includes(READER.password));
  const { bindPassword: _, ...rest } = settings(on.slapd).ldap;
  const elsewhere = { ...settings(on.slapd), ldap: { ...rest, urls: ['ldaps://other.test'] } };
  for (const answer of [
    await on.client.put(`/api/providers/${on.provider}`, elsewhere),
    await on.client.post('/api/providers/test', { id: on.provider, provider: elsewhere }),
  ])
    refused(answer, 400, 'invalid_request', /bindPassword is needed/);
  assert.ok(!JSON.stringify((await on.client.get('/api/audit-log')).body).includes(READER.password));
});

test('groups are compared by their distinguished name, or by the common name alone; the highest role counts', () => {
  const roles = [
    { group: 'CN=Ops, DC=x', role: 'operator' },
    { group: 'viewers', role: 'viewer' },
    { group: 'root', role: 'administrator' },
  ] as const;
  assert.equal(roleOf(['cn=ops,dc=x'], roles, null), 'operator');
  assert.equal(roleOf(['cn=Viewers,ou=y', 'cn=ops,dc=x'], roles, null), 'operator');
  assert.equal(roleOf(['cn=ops,dc=y'], roles, null), null);
  assert.equal(roleOf([], roles, 'viewer'), 'viewer');
  assert.equal(roleOf(['uid=root,dc=x'], roles, null), null, 'no common name');
  assert.equal(roleOf(['root'], roles, 'viewer'), 'administrator');
});
