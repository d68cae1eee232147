// Signing in by an Active Directory, which Samba is. `./build.sh nightly --only access` runs it in a network namespace.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Answer, bench, Client } from './harness.ts';
import { ADMINISTRATOR, BASE, samba } from './samba.ts';

test('people of an Active Directory', async (t) => {
  const directory = await samba(t);
  for (const name of ['ann', 'ben', 'cleo', 'dan', 'eva']) directory.tool('user', 'create', name, `${name}-Secret-1`);
  for (const group of ['Cistern Admins', 'Night Shift', 'Cistern Operators']) directory.tool('group', 'add', group);
  directory.tool('group', 'addmembers', 'Cistern Admins', 'ann');
  directory.tool('group', 'addmembers', 'Night Shift', 'ben');
  directory.tool('group', 'addmembers', 'Cistern Operators', 'Night Shift');
  directory.tool('group', 'addmembers', 'Cistern Operators', 'eva');
  directory.tool('user', 'disable', 'eva');

  const { appliance, client } = await bench(t);
  await client.setUp();
  const ldap = {
    ...{ bindDn: ADMINISTRATOR.dn, bindPassword: ADMINISTRATOR.password, baseDn: `CN=Users,${BASE}`, ca: directory.ca },
    // As the page fills it in for an Active Directory (ui/src/access/providers/provider.ts).
    ...{ userFilter: '(&(objectCategory=person)(sAMAccountName={name}))', nameAttribute: 'sAMAccountName' },
    ...{ subjectAttribute: 'objectGUID', groupBaseDn: BASE, nested: 'active-directory' },
  };
  const roles = [
    { group: 'Cistern Admins', role: 'administrator' },
    { group: `CN=Cistern Operators,CN=Users,${BASE}`, role: 'operator' },
  ];
  const provider = { name: 'Example', kind: 'ldap', enabled: true, otherwise: null, roles };
  const made = await client.post('/api/providers', { ...provider, ldap: { ...ldap, urls: [directory.ldaps] } });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const signIn = (user: string, password = `${user}-Secret-1`) =>
    new Client(appliance, '192.0.2.9').post('/api/session', { user, password, provider: made.body.id });
  const refused = (answer: Answer, code: string) => assert.equal(answer.body.code, code, JSON.stringify(answer.body));

  assert.deepEqual((await signIn('ann')).body.user, { name: 'ann', role: 'administrator' });
  assert.deepEqual((await signIn('ben')).body.user, { name: 'ben', role: 'operator' }, 'by a group within a group');
  const capitals = await signIn('ANN', 'ann-Secret-1');
  assert.equal(capitals.body.user?.name, 'ann', JSON.stringify(capitals.body));
  refused(await signIn('cleo'), 'account_disabled');
  for (const wrong of ['wrong', '', 'ann-Secret-1 ']) refused(await signIn('ann', wrong), 'wrong_credentials');
  refused(await signIn('eva'), 'wrong_credentials');
  refused(await signIn('a*'), 'wrong_credentials');

  // Somebody who was renamed there is the same user here; somebody new with the old name is not.
  const { body: users } = await client.get('/api/users');
  const external = () => users.items.filter(({ provider }: { provider: string | null }) => provider !== null).length;
  assert.equal(external(), 2);
  directory.tool('user', 'rename', 'ben', '--samaccountname=bernd', '--upn=bernd@example.test', '--force-new-cn=bernd');
  assert.equal((await signIn('bernd', 'ben-Secret-1')).body.user.role, 'operator');
  directory.tool('user', 'create', 'ben', 'another-Secret-1');
  refused(await signIn('ben', 'another-Secret-1'), 'account_disabled');

  directory.tool('group', 'removemembers', 'Cistern Admins', 'ann');
  directory.tool('group', 'addmembers', 'Cistern Operators', 'ann');
  assert.equal((await signIn('ann')).body.user.role, 'operator', 'read at each sign-in');

  const tested = await client.post(`/api/providers/test`, {
    ...{
      id: made.body.id,
      provider: { ...provider, ldap: { ...ldap, urls: [directory.ldap] } },
      user: 'ann',
      password: 'ann-Secret-1',
    },
  });
  assert.equal(tested.status, 200, JSON.stringify(tested.body));
  assert.ok(
    tested.body.steps.every(({ ok }: { ok: boolean }) => ok),
    JSON.stringify(tested.body.steps),
  );
});
