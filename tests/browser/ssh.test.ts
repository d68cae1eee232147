// ssh, as an administrator switches it on, and somebody with a key prepares to come in.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newPublicKey, readKey } from '../../appliance-kit/src/platform/sim/ssh.ts';
import { setUp } from '../stack/api.ts';
import type { Stack } from '../stack/stack.ts';
import { lookAt, type Person, person, signInBy, withStack } from './browser.ts';

let stack: Stack;
let someone: Person;
before(async () => {
  stack = await withStack();
  await setUp(stack);
  someone = await person(stack);
});
after(async () => {
  await someone?.close();
  await stack?.stop();
});

test('a key is added, ssh is switched on for a time, and off again', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Fprofile');
  await signInBy(page);
  const own = page.getByRole('region', { name: 'Your keys for ssh' });
  await own.getByText('ssh is off').waitFor();
  await own.getByText('You have none.').waitFor();
  await own.getByRole('button', { name: 'Add a key' }).click();
  const field = own.getByLabel('Public key');

  // What is wrong is said at the field, and a private key is in no answer.
  expect(/status of 400/);
  await field.fill('-----BEGIN OPENSSH PRIVATE KEY-----\nc4nary\n-----END OPENSSH PRIVATE KEY-----');
  await own.getByRole('button', { name: 'Add the key' }).click();
  await own.getByText('This is a private key, which must not leave its machine').waitFor();
  await lookAt(page, 'profile-ssh-key');
  const key = newPublicKey();
  const { fingerprint } = readKey(key);
  await field.fill(`${key} ada@laptop\n`);
  await own.getByRole('button', { name: 'Add the key' }).click();
  const keys = own.getByRole('grid', { name: 'Keys for ssh' });
  await keys.getByText('ada@laptop').waitFor();
  await keys.getByText(fingerprint).waitFor();

  await page.goto(`${stack.url}/settings/ssh`);
  const form = page.getByRole('form', { name: 'Who may come in by ssh' });
  await page.getByText('The appliance gets its key for ssh when').waitFor();
  await lookAt(page, 'settings-ssh-off');
  await form.getByText('Users may come in by ssh').click();
  await form.getByLabel('Until').selectOption({ label: 'a day from now' });
  const networks = form.getByLabel('Only from these addresses');
  await networks.fill('own 192.0.2.300');
  await form.getByRole('button', { name: 'Save' }).click();
  await form.getByText('192.0.2.300 is neither an address nor a network').waitFor();
  await networks.fill('own 203.0.113.0/24');
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByText(/^The first time ssh shows the fingerprint/).waitFor();
  const line = await page.getByLabel('Command to come in').inputValue();
  assert.equal(line, `ssh cistern-ssh@${new URL(stack.url).hostname}`);
  const read = await (await page.request.get(`${stack.url}/api/ssh-access`)).json();
  await page.getByText(read.hostKey).waitFor();
  const hours = (Date.parse(read.enabledUntil) - Date.now()) / 3_600_000;
  assert.ok(hours > 23 && hours <= 24, read.enabledUntil);
  await lookAt(page, 'settings-ssh');

  // The firewall has its networks from here, and says where they are changed.
  await page.goto(`${stack.url}/settings/firewall`);
  const row = page.getByRole('grid', { name: 'Services' }).getByRole('row').filter({ hasText: 'SSH' });
  await row.getByText('203.0.113.0/24').waitFor({ timeout: 40_000 });
  await row.getByRole('link', { name: 'SSH at SSH' }).click();

  // Somebody else has changed it meanwhile: nothing is lost.
  await networks.fill('own 198.51.100.7');
  const other = await page.request.put(`${stack.url}/api/ssh-access`, {
    data: { enabledUntil: read.enabledUntil, networks: ['203.0.113.0/24'] },
    headers: { origin: stack.url },
  });
  assert.equal(other.status(), 200, await other.text());
  expect(/status of 412/);
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: 'Load the current values' }).click();
  assert.equal(await networks.inputValue(), 'own 198.51.100.7');

  await form.getByText('Users may come in by ssh').click();
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByText(/^ssh is\s*off/).waitFor();

  // Whose key it is, is seen here, and it can be taken away.
  const all = page.getByRole('grid', { name: 'Keys for ssh' });
  await all.getByRole('button', { name: 'Remove the key ada@laptop of' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove the key' }).click();
  await page.getByText('Nobody has a key yet.').waitFor();
});
