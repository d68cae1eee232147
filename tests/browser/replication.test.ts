// Replication as an administrator sets it up: a machine that has to be trusted, what would happen, an interruption, the other
// direction.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Person as ApiPerson, setUp } from '../stack/api.ts';
import type { Stack } from '../stack/stack.ts';
import { exactly, lookAt, type Person, person, signInBy, withStack } from './browser.ts';

let stack: Stack;
let someone: Person;
let api: ApiPerson;
before(async () => {
  stack = await withStack();
  api = await setUp(stack);
  someone = await person(stack);
  for (const name of ['tank/home', 'tank/copies']) {
    await api.get('POST', '/api/datasets', { name, kind: 'filesystem', properties: { mountpoint: `/srv/${name}` } });
  }
  await stack.simulate('dataset-write', { dataset: 'tank/home', path: 'a', bytes: 80_000_000, text: 'x' });
});
after(async () => {
  await someone?.close();
  await stack?.stop();
});

test('a dataset is replicated to another Cistern, whose key is confirmed first; a cut line is said and mended', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Fstorage');
  await signInBy(page);
  await page.getByRole('navigation', { name: 'Storage' }).getByRole('link', { name: 'Replication' }).click();
  await page.getByText('Nothing is replicated to another place.').waitFor();
  await lookAt(page, 'replication-none');
  await page.getByRole('button', { name: 'New replication' }).click();
  await page.getByLabel(exactly('Dataset')).selectOption('tank/home');
  await page.getByRole('textbox', { name: 'Machine' }).fill('nobody.example');
  expect(/status of 502/);
  await page.getByRole('button', { name: 'Read its key' }).click();
  await page.getByText(/nobody\.example:8022 cannot be reached/).waitFor();
  await page.getByRole('textbox', { name: 'Machine' }).fill('backup.example');
  await page.getByRole('button', { name: 'Read its key' }).click();
  await page.getByText('backup.example shows this key').waitFor();
  await page.getByLabel('Dataset there').fill('vault/elsewhere');
  // Not before the key is confirmed.
  await page.getByRole('button', { name: 'Begin to replicate' }).hover();
  await page.getByText('Read the key of the machine, and confirm it.').first().waitFor();
  await page.getByLabel('The machine itself shows the same key').check();
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByText('It cannot be replicated there').waitFor();
  await page.getByText(/takes in what lies below “vault\/received”/).waitFor();
  await page.getByLabel('Dataset there').fill('vault/received/home');
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByText(/everything is sent first/).waitFor();
  await lookAt(page, 'replication-new-filled');
  await page.getByRole('button', { name: 'Begin to replicate' }).click();
  await page.getByRole('heading', { level: 1, name: 'Replication' }).waitFor();
  await page.getByText('Nothing has arrived there yet.').waitFor();

  await page.getByRole('button', { name: 'Replicate now: tank/home' }).click();
  await page.getByRole('progressbar', { name: /Sending everything, .* of about/ }).waitFor();
  await stack.simulate('replication-cut', { cut: true });
  await page
    .getByText(/The connection to the target was lost\./)
    .last()
    .waitFor();
  await page.getByText(/It is tried again/).waitFor();
  await lookAt(page, 'replication-interrupted');
  await stack.simulate('replication-cut', { cut: false });
  await page.getByRole('button', { name: 'Replicate now: tank/home' }).click();
  await page
    .getByText(/What is there is .* old\./)
    .first()
    .waitFor();
  await page.getByText('1 dataset is replicated.', { exact: false }).waitFor();
  await lookAt(page, 'replication');

  await page.getByRole('button', { name: 'Change the replication of tank/home' }).click();
  await page.getByText('Its key was confirmed before.', { exact: false }).waitFor();
  await page.getByLabel('Limit per second').fill('10 MiB');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText(/at most 10 MiB a second/).waitFor();
  const { items } = await api.get<{ items: { bytesPerSecond: number }[] }>('GET', '/api/replications');
  assert.equal(items[0]?.bytesPerSecond, 10 * 2 ** 20);

  await page.getByRole('button', { name: 'End the replication of tank/home' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'End it' }).click();
  await page.getByText('Nothing is replicated to another place.').waitFor();
});

test('a sender is added below a dataset, and removed', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Fstorage%2Freplication');
  await signInBy(page);
  await page.getByText('None. Nothing listens for them.').waitFor();
  const key = await page.getByRole('textbox', { name: 'Public key' }).inputValue();
  assert.match(key, /^ssh-ed25519 /);
  await page.getByRole('button', { name: 'Add a sender' }).click();
  await page.getByLabel(exactly('Name')).fill('backup of Berlin');
  await page.getByLabel('Its public key').fill(key);
  await page.getByLabel('It replicates to datasets below').selectOption('tank/copies');
  const quota = page.getByLabel('Quota of that dataset');
  assert.match(await quota.inputValue(), /^\d+ [GM]iB$/);
  await quota.fill('');
  await page.getByText('Without one a sender can fill the pool').waitFor();
  await quota.fill('3 GiB');
  await lookAt(page, 'replication-sender');
  await page.getByRole('button', { name: 'Add the sender' }).click();
  await page.getByText(/They reach this appliance at port 8022/).waitFor();
  await page.getByText(/to datasets below tank\/copies, up to 3(\.\d+)? Gi?B/).waitFor();
  await page.getByRole('button', { name: 'Add a sender' }).click();
  await page.getByLabel(exactly('Name')).fill('again');
  await page.getByLabel('Its public key').fill(key);
  expect(/status of 400/);
  await page.getByRole('button', { name: 'Add the sender' }).click();
  await page.getByText(/is the key of “backup of Berlin” already/i).waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Remove the sender backup of Berlin' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove it' }).click();
  await page.getByText('None. Nothing listens for them.').waitFor();
});
