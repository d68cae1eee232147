// Identity providers, as the people of a company meet them: Debian's OpenLDAP and a real OpenID provider.
import assert from 'node:assert/strict';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { CLIENT, type OpenIdServer, openIdProvider } from '../../appliance-kit/tests/openid.ts';
import { READER, type Slapd, SUFFIX, slapd } from '../../appliance-kit/tests/slapd.ts';
import { setUp } from '../stack/api.ts';
import type { Stack } from '../stack/stack.ts';
import { exactly, lookAt, type Person, passwordDialog, person, signInBy, withStack } from './browser.ts';

let stack: Stack;
let someone: Person;
let directory: Slapd;
let company: OpenIdServer;
const ends: (() => void | Promise<void>)[] = [];
before(async () => {
  stack = await withStack();
  await setUp(stack);
  someone = await person(stack);
  const until = { after: (end: () => void | Promise<void>) => ends.push(end) };
  directory = await slapd(until);
  company = await openIdProvider(until, [stack.url]);
});
after(async () => {
  await someone?.close();
  await stack?.stop();
  for (const end of ends.reverse()) await end();
});

const save = (page: Page) => page.getByRole('button', { name: 'Add the identity provider' }).click();

async function atTheForm(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'New identity provider' }).click();
  await page.getByRole('heading', { name: 'New identity provider' }).waitFor();
  await page.getByLabel(exactly('Name')).fill(name);
}

test('an administrator sets a directory up, and the test says what happens', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Fsettings%2Fproviders');
  expect(/status of 40[03]/);
  await signInBy(page);
  await page.getByText('None: everybody signs in with an account of this appliance.', { exact: false }).waitFor();
  await atTheForm(page, 'Example');
  await page.getByLabel('Addresses').fill(directory.ldap);
  await page.getByLabel('Search as').fill(READER.dn);
  await page.getByLabel('Its password').fill('wrong');
  await page.getByLabel(exactly('Users are below')).fill(`ou=people,${SUFFIX}`);
  await page.getByLabel('Groups are below').fill(`ou=groups,${SUFFIX}`);
  await page.getByLabel('Groups within groups').selectOption('walk');
  await page.getByLabel('Certificate authority').fill(directory.identity.ca);
  await page.getByLabel('Group 1', { exact: true }).fill('viewers');
  await page.getByRole('button', { name: 'Add a group' }).click();
  await page.getByLabel('Group 2', { exact: true }).fill('operators');
  await page.getByLabel('Role of group 2').selectOption('operator');
  await page.getByLabel('Test with the user').fill('carol');
  await page.getByRole('button', { name: 'Test it' }).click();
  await page.getByText('It does not work so.').waitFor();
  await page.getByText('Check the distinguished name and the password', { exact: false }).waitFor();
  await page.getByLabel('Its password').fill(READER.password);
  await page.getByRole('button', { name: 'Test it' }).click();
  await page.getByText('carol would be operator.', { exact: false }).waitFor();
  await lookAt(page, 'provider-ldap');
  await save(page);
  await page.getByRole('row').filter({ hasText: 'Example' }).waitFor();

  await atTheForm(page, 'Company');
  await page.getByLabel('Kind').selectOption('oidc');
  await page.getByLabel(exactly('Issuer')).fill(company.issuer);
  await page.getByLabel(exactly('Client')).fill(CLIENT.id);
  await page.getByLabel('Its secret').fill(CLIENT.secret);
  await page.getByLabel('Sign out there, too').check();
  await page.getByLabel('Certificate authority').fill(company.identity.ca);
  await page.getByLabel('Group 1', { exact: true }).fill('admins');
  await page.getByLabel('Role of group 1').selectOption('administrator');
  await page.getByRole('button', { name: 'Test it' }).click();
  await page.getByText('It works.').waitFor();
  await lookAt(page, 'provider-oidc');
  await save(page);
  await page.getByRole('row').filter({ hasText: 'Company' }).waitFor();
  await lookAt(page, 'providers');
});

test('somebody of the directory signs in on the same form; a local account does too', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in');
  expect(/status of 401/);
  await page.getByLabel('Account').selectOption({ label: 'Example' });
  await page.getByLabel('Name').fill('bob');
  await page.getByLabel('Password').fill('wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('The name or the password is wrong.').waitFor();
  await lookAt(page, 'sign-in-providers');
  await page.getByLabel('Password').fill('bob-secret');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Pages' }).waitFor({ state: 'attached' });
  await page.goto(`${stack.url}/profile`);
  await page.getByText('You are signed in as viewer, by an identity provider.').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Change the password' }).count(), 0);

  const { page: local } = await someone.visit(t, '/sign-in');
  await signInBy(local);
});

test('somebody signs in at the OpenID provider, confirms there, and signs out there', async (t) => {
  const { page, context, expect } = await someone.visit(t, '/sign-in?to=%2Fsettings%2Fusers');
  expect(new RegExp(`request to ${company.issuer}`));
  expect(/status of 403/);
  company.who = { sub: 'sub-ann', name: 'ann', groups: ['admins'] };
  await page.getByRole('button', { name: 'Go on with Company' }).click();
  await page.getByRole('row').filter({ hasText: 'ann' }).getByText('external').waitFor();
  assert.ok(!page.url().includes('code='));
  await lookAt(page, 'users-external');

  const db = new DatabaseSync(path.join(stack.dir, 'akd/state.db'));
  db.exec('PRAGMA busy_timeout = 5000; UPDATE sessions SET confirmed_at = 0');
  db.close();
  await page.removeLocatorHandler(passwordDialog(page));
  await page.getByRole('button', { name: 'New user' }).click();
  const form = page.getByRole('form', { name: 'Add the user' });
  await form.getByLabel(exactly('Name')).fill('new-one');
  await form.getByRole('button', { name: 'Add the user' }).click();
  const dialog = page.getByRole('dialog', { name: 'Sign in at your provider again' });
  await dialog.waitFor();
  const opened = context.waitForEvent('page');
  await dialog.getByRole('button', { name: 'Confirm' }).click();
  const popup = await opened;
  if (!popup.isClosed()) await popup.waitForEvent('close');
  await page.getByRole('textbox', { name: 'One-time password' }).waitFor();

  await page.getByRole('button', { name: 'ann: user menu' }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Yes' }).click();
  await page.getByRole('button', { name: 'Go on with Company' }).waitFor();
});

test('who signs out of a session that has ended already is signed out', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Fprofile');
  expect(new RegExp(`request to ${company.issuer}`));
  company.who = { sub: 'sub-ann', name: 'ann', groups: ['admins'] };
  await page.getByRole('button', { name: 'Go on with Company' }).click();
  // The request arrives, and its answer is lost.
  await page.route('**/api/providers/end', async (route) => {
    await route.fetch();
    await route.abort();
  });
  expect(/ERR_FAILED|status of 401/);
  await page.getByRole('button', { name: 'ann: user menu' }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Signing out failed' }).waitFor();
  await page.unroute('**/api/providers/end');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('button', { name: 'Go on with Company' }).waitFor();
});

test('a provider that is gone says so, and the local form is there', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in');
  expect(/status of (401|503)/);
  await directory.stop();
  await page.getByLabel('Account').selectOption({ label: 'Example' });
  await page.getByLabel('Name').fill('bob');
  await page.getByLabel('Password').fill('bob-secret');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('The directory cannot be reached.', { exact: false }).waitFor();
  await page.getByLabel('Account').selectOption({ label: 'of this appliance' });
  await signInBy(page);
  await page.goto(`${stack.url}/sign-in/callback?code=x&state=y`);
  expect(/status of 409/);
  await page.getByText('This browser has begun no sign-in', { exact: false }).waitFor();
});
