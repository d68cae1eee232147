// Users, passwords, sessions and tokens, as somebody at the page does it.
import assert from 'node:assert/strict';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { type Person as ApiPerson, administrator, setUp } from '../stack/api.ts';
import { ask } from '../stack/http.ts';
import type { Stack } from '../stack/stack.ts';
import { exactly, lookAt, type Person, passwordDialog, person, signInBy, withStack } from './browser.ts';

const OWN = 'violet tractor umbrella';

let stack: Stack;
let someone: Person;
let api: ApiPerson;
before(async () => {
  stack = await withStack();
  api = await setUp(stack);
  someone = await person(stack);
});
after(async () => {
  await someone?.close();
  await stack?.stop();
});

/** As if five minutes had passed since the password was given. */
function fiveMinutesLater(): void {
  const db = new DatabaseSync(path.join(stack.dir, 'akd/state.db'));
  db.exec('PRAGMA busy_timeout = 5000; UPDATE sessions SET confirmed_at = 0');
  db.close();
}

async function signInAs(page: Page, name: string, password: string): Promise<void> {
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

test('a user is added, signs in with the one-time password, and chooses another one', async (t) => {
  const { page, expect: expectHere } = await someone.visit(t, '/sign-in?to=%2Fsettings');
  await signInBy(page);
  expectHere(/status of 400/);
  await page.getByRole('button', { name: 'New user' }).click();
  const form = page.getByRole('form', { name: 'Add the user' });
  await form.getByLabel(exactly('Name')).fill('Bob');
  await form.getByRole('button', { name: 'Add the user' }).click();
  await form.getByText('must begin with a small letter').waitFor();
  await form.getByLabel(exactly('Name')).fill('bob');
  await form.getByLabel('Role').selectOption('operator');
  await form.getByRole('button', { name: 'Add the user' }).click();
  const oneTime = await page.getByRole('textbox', { name: 'One-time password' }).inputValue();
  assert.match(oneTime, /^[a-z2-9]{4}(-[a-z2-9]{4}){3}$/);
  await lookAt(page, 'settings-users');
  await page.getByRole('button', { name: 'I have copied it' }).click();
  const row = page.getByRole('row').filter({ hasText: 'bob' });
  await row.getByText('has not signed in yet').waitFor();

  const { page: his, expect } = await someone.visit(t, '/sign-in');
  await signInAs(his, 'bob', oneTime);
  await his.getByRole('heading', { name: 'Choose a password, bob' }).waitFor();
  await lookAt(his, 'new-password');
  await his.getByLabel(exactly('The one-time password')).fill(oneTime);
  const choose = async (password: string) => {
    await his.getByLabel(exactly('New password')).fill(password);
    await his.getByLabel(exactly('New password again')).fill(password);
    await his.getByRole('button', { name: 'Change the password' }).click();
  };
  expect(/status of 400/);
  await choose('password1234');
  await his.getByText(/easy to guess/).waitFor();
  await choose(OWN);
  await his.getByRole('navigation', { name: 'Pages' }).waitFor({ state: 'attached' });
  await row.getByText('active').waitFor();
  await his.goto(`${stack.url}/settings/users`);
  await his.getByText('You are signed in as operator; this needs an administrator.').waitFor();
});

test('a user is disabled, is out at once, and is deleted with the name typed', async (t) => {
  const { page: his, expect } = await someone.visit(t, '/sign-in');
  expect(/status of 40[13]/);
  await signInAs(his, 'bob', OWN);
  await his.getByRole('navigation', { name: 'Pages' }).waitFor({ state: 'attached' });
  const { page } = await someone.visit(t, '/sign-in?to=%2Fsettings%2Fusers');
  await signInBy(page);
  await page.getByRole('link', { name: 'bob' }).click();
  await page.getByRole('checkbox', { name: 'Disabled' }).check();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('disabled', { exact: true }).waitFor();
  await lookAt(page, 'settings-user');
  await his.goto(`${stack.url}/status`);
  await signInAs(his, 'bob', OWN);
  await his.getByText('The account bob is disabled.').waitFor();
  await page.getByRole('button', { name: 'Delete the user' }).click();
  await page.getByLabel('Type “bob” to confirm').fill('bob');
  await page.getByRole('dialog').getByRole('button', { name: 'Delete the user' }).click();
  await page.getByRole('button', { name: 'New user' }).waitFor();
  await page.getByRole('row').filter({ hasText: 'bob' }).waitFor({ state: 'detached' });
});

test('the audit log is filtered by what the address says, opened page by page, and proves itself', async (t) => {
  await api.get('POST', '/api/users', { name: 'eve', role: 'viewer' });
  await api.get('PUT', '/api/users/eve', { role: 'viewer', disabled: true });
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Fsettings%2Faudit');
  await signInBy(page);
  const table = page.getByRole('grid', { name: 'Audit log' });
  await table.getByText('session.create').first().waitFor();
  await page.getByRole('textbox', { name: 'Action' }).fill('user.update');
  await table.getByText('session.create').first().waitFor({ state: 'detached' });
  const row = table.getByRole('row').filter({ hasText: 'eve' });
  await row.getByText('disabled').waitFor();
  assert.equal(await row.locator('del').textContent(), 'false');
  assert.equal(await row.locator('ins').textContent(), 'true');
  assert.match(page.url(), /\/settings\/audit\?action=user\.update$/);
  await page.reload();
  await row.waitFor();
  const file = await page.getByRole('link', { name: 'JSON lines' }).getAttribute('href');
  assert.equal(file, '/api/audit-export?format=jsonl&action=user.update');
  await page.getByRole('textbox', { name: 'Action' }).fill('');
  await table.getByText('session.create').first().waitFor();
  await lookAt(page, 'settings-audit');

  await page.goto(`${stack.url}/settings/audit-proof`);
  const newest = await page.getByRole('textbox', { name: 'Newest hash' }).inputValue();
  assert.match(newest, /^\d+:[0-9a-f]{64}$/);
  await page.getByRole('textbox', { name: 'A hash that was written down' }).fill(newest);
  await page.getByRole('button', { name: 'Verify now' }).click();
  await page.getByText('1 given hash fits.').waitFor();
  const receiver = page.getByRole('form', { name: 'Save where it is sent' });
  expect(/status of 400/);
  await receiver.getByLabel('Receiver').fill('127.0.0.1');
  await receiver.getByRole('button', { name: 'Save where it is sent' }).click();
  await receiver.getByText('name another machine').waitFor();
  await receiver.getByLabel('Receiver').fill('cistern-no-such-host.invalid');
  await receiver.getByRole('button', { name: 'Test it' }).click();
  await receiver.getByText('The test message was not accepted.').waitFor();
  await lookAt(page, 'settings-audit-proof');
});

test('what changes who gets in asks for the password again, and goes on where it was', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Fsettings%2Ftokens');
  await signInBy(page);
  await page.getByRole('button', { name: 'New API token' }).click();
  fiveMinutesLater();
  const dialog = passwordDialog(page);
  await page.removeLocatorHandler(dialog);
  expect(/status of 40[13]/);
  await page.getByLabel('Name of the token').fill('grafana');
  await page.getByLabel('Only from these addresses').fill('127.0.0.0/8 ::1');
  await page.getByRole('button', { name: 'Create the token' }).click();
  await dialog.getByText('To make an API token, give your password again.').waitFor();
  await lookAt(page, 'password-again');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await page.getByText(/give your password again/).waitFor();
  await page.getByRole('button', { name: 'Create the token' }).click();
  await dialog.getByLabel('Password').fill('not the password');
  await dialog.getByLabel('Password').press('Enter');
  await dialog.getByText('The name or the password is wrong.').waitFor();
  await dialog.getByLabel('Password').fill(administrator.password);
  await dialog.getByRole('button', { name: 'Confirm' }).click();
  const token = await page.getByRole('textbox', { name: 'Token', exact: true }).inputValue();
  await page.getByRole('button', { name: 'I have copied it' }).click();
  const row = page.getByRole('row').filter({ hasText: 'grafana' });
  await row.getByText('127.0.0.0/8, ::1').waitFor();
  const reply = await ask(new URL('/api/v1/write', stack.url), {
    ...{ method: 'POST', body: {}, headers: { authorization: `Bearer ${token}` } },
  });
  assert.notEqual(reply.status, 401, 'it is taken from here');
  await lookAt(page, 'settings-tokens');
});

test('a token for a part is made, refused in words, and shown with its limits', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Fsettings%2Ftokens');
  await signInBy(page);
  const create = async (name: string, role: string) => {
    await page.getByRole('button', { name: 'New API token' }).click();
    await page.getByLabel('Name of the token').fill(name);
    await page.getByLabel('It may').selectOption(role);
  };
  const submit = page.getByRole('button', { name: 'Create the token' });
  const copied = page.getByRole('button', { name: 'I have copied it' });
  expect(/status of 400/);
  await create('berlin-sender', 'writer');
  await page.getByLabel('Labels on all that it sends').fill('site');
  await submit.click();
  await page.getByText('“site” has no value').waitFor();
  await page.getByLabel('Labels on all that it sends').fill('site=berlin\nteam = shop and kiosk');
  await lookAt(page, 'settings-tokens-labels');
  await submit.click();
  await copied.click();

  await create('berlin-grafana', 'viewer');
  await page.getByLabel('Only these series').fill('{site=~"("}');
  await submit.click();
  await page.getByText(/missing closing \)/).waitFor();
  await lookAt(page, 'settings-tokens-selector');
  await page.getByLabel('Only these series').fill(' {site="berlin",env!~"test|staging"} ');
  await submit.click();
  await copied.click();
  await page
    .getByRole('row')
    .filter({ hasText: 'berlin-sender' })
    .getByText('site=berlin, team=shop and kiosk')
    .waitFor();
  await page
    .getByRole('row')
    .filter({ hasText: 'berlin-grafana' })
    .getByText('{site="berlin",env!~"test|staging"}')
    .waitFor();
  await lookAt(page, 'settings-tokens-limited');
});

test('sessions are seen with browser and address, and ended', async (t) => {
  const { page: other, expect } = await someone.visit(t, '/sign-in');
  expect(/status of 401/);
  await signInBy(other);
  const { page, expect: expectHere } = await someone.visit(t, '/sign-in?to=%2Fprofile');
  await signInBy(page);
  const own = page.getByRole('row').filter({ hasText: '(this one)' });
  await own.getByText('127.0.0.1').waitFor();
  assert.equal(await own.getByRole('button').count(), 0, 'it is signed out of, not ended');
  await lookAt(page, 'profile');
  await page.getByRole('button', { name: 'End all others' }).click();
  await page
    .getByRole('button', { name: /^End the session of admin/ })
    .first()
    .waitFor({ state: 'detached' });
  await other.goto(`${stack.url}/status`);
  await other.getByRole('button', { name: 'Sign in' }).waitFor();

  await page.goto(`${stack.url}/settings/sessions`);
  await page.getByLabel(/not used for/).fill('1');
  await page.getByRole('form', { name: 'Save' }).getByRole('button', { name: 'Save' }).click();
  expectHere(/status of 400/);
  await page.getByText(/Must be/).waitFor();
  await lookAt(page, 'settings-sessions');
});

test('a sign-out that fails says so, and is tried again', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in');
  await signInBy(page);
  expect(/ERR_FAILED/);
  const session = (url: URL) => url.pathname === '/api/session';
  await page.route(session, (route) => (route.request().method() === 'DELETE' ? route.abort() : route.continue()));
  const signOut = async () => {
    await page.getByRole('button', { name: `${administrator.name}: user menu` }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
  };
  await signOut();
  await page.getByRole('alert').waitFor();
  await lookAt(page, 'sign-out-failed');
  await page.getByRole('button', { name: 'Stay signed in' }).click();
  await page.getByRole('heading', { name: 'Status' }).waitFor();
  await signOut();
  await page.getByRole('alert').waitFor();
  await page.unroute(session);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
});

test('one’s own password is changed in the profile', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Fprofile');
  await signInBy(page);
  await page.getByRole('button', { name: 'Change the password' }).click();
  await page.getByLabel(exactly('Your present password')).fill('not the password');
  await page.getByLabel(exactly('New password')).fill(OWN);
  await page.getByLabel(exactly('New password again')).fill('violet');
  const change = page.getByRole('button', { name: 'Change the password' });
  assert.equal(await change.getAttribute('aria-disabled'), 'true', 'the two differ');
  await page.getByLabel(exactly('New password again')).fill(OWN);
  expect(/status of 401/);
  await change.click();
  await page.getByText('The name or the password is wrong.').waitFor();
  await page.getByLabel(exactly('Your present password')).fill(administrator.password);
  await change.click();
  await page.getByText('The password was changed. Your other sessions have ended.').waitFor();
});
