// What is done to pools: a disk is replaced, a pool scrubbed, exported, imported and destroyed.
import { after, before, beforeEach, test } from 'node:test';
import { setUp } from '../stack/api.ts';
import type { Stack } from '../stack/stack.ts';
import { lookAt, type Person, person, signInBy, withStack } from './browser.ts';

const GIB = 2 ** 30;
const id = (name: string) => `scsi-0QEMU_QEMU_HARDDISK_${name}`;
let stack: Stack;
let someone: Person;
before(async () => {
  stack = await withStack();
  await setUp(stack);
  someone = await person(stack);
});
beforeEach(() => stack.simulate('pool-heal', { pool: 'tank' }));
after(async () => {
  await someone?.close();
  await stack?.stop();
});

test('a disk is pulled, the page leads to its replacement, and ends where all is well', async (t) => {
  const { page } = await someone.visit(t, '/sign-in?to=%2Fstorage%2Fpools%2Ftank');
  await signInBy(page);
  await page.getByText(/Healthy\. 4 disks/).waitFor();
  await stack.simulate('disk-remove', { disk: 'data2' });
  await page.getByRole('link', { name: 'Replace it' }).click({ timeout: 30_000 });
  await page.getByText(/data2 was removed/).waitFor();
  await page.getByText('There is no other disk in the machine yet.').waitFor();
  await page.getByRole('button', { name: 'Replace the disk' }).hover();
  await page.getByText('No disk fits yet. Insert one.').waitFor();
  await stack.simulate('disk-add', { name: 'small', bytes: GIB });
  await stack.simulate('disk-add', { name: 'foreign', bytes: 2 * GIB });
  await stack.simulate('disk-occupy', { disk: 'foreign', occupant: '/dev/sdg carries an ext4 file system.' });
  await page.getByText('It holds 1 GiB; 2 GiB are needed.').waitFor({ timeout: 30_000 });
  await page.getByRole('button', { name: 'Erase foreign, so that it can be used' }).waitFor();
  await stack.simulate('disk-add', { name: 'fresh', bytes: 2 * GIB });
  await page.getByRole('radio', { name: /fresh.*recommended/ }).waitFor({ timeout: 30_000 });
  await lookAt(page, 'storage-replace-choose');
  await page.getByRole('button', { name: 'Replace the disk' }).click();
  await page.getByRole('progressbar', { name: 'Resilver' }).waitFor();
  // What is under way is found again after a reload.
  await page.reload();
  await page.getByRole('progressbar', { name: 'Resilver' }).waitFor();
  await page.goto(`${stack.url}/storage/pools/tank`);
  await page.getByText(/Healthy\. 4 disks/).waitFor({ timeout: 30_000 });
  await page.getByRole('grid', { name: 'Disks of the pool' }).getByText('fresh').waitFor();
});

test('a disk that somebody used before is erased only after its name was typed', async (t) => {
  const { page } = await someone.visit(
    t,
    `/sign-in?to=${encodeURIComponent(`/storage/pools/tank/replace?device=${id('data1')}`)}`,
  );
  await signInBy(page);
  await page.getByRole('button', { name: 'Erase foreign, so that it can be used' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(/carries an ext4 file system.*lost/).waitFor();
  await dialog.getByRole('textbox').fill(id('foreign'));
  await dialog.getByRole('button', { name: 'Erase the disk' }).click();
  await page
    .getByRole('radio', { name: /foreign/ })
    .and(page.locator(':enabled'))
    .waitFor({ timeout: 30_000 });
});

test('a scrub is started, paused, gone on with and stopped, and is in the list; the schedule is changed', async (t) => {
  const { page } = await someone.visit(t, '/sign-in?to=%2Fstorage%2Fpools%2Ftank');
  await signInBy(page);
  await page.getByRole('button', { name: 'Scrub now' }).click();
  await page.getByRole('progressbar', { name: 'Scrub' }).waitFor();
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByText(/^Paused\./).waitFor();
  await lookAt(page, 'storage-pool-scrub');
  await page.getByRole('button', { name: 'Go on' }).click();
  await page.getByRole('button', { name: 'Pause' }).waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await page
    .getByRole('grid', { name: 'Scrubs so far' })
    .getByText('It was stopped before its end.')
    .waitFor({ timeout: 30_000 });
  await stack.simulate('pool-rot', { pool: 'tank', bytes: 8192 });
  await page.getByRole('button', { name: 'Scrub now' }).click();
  await page.getByRole('grid', { name: 'Scrubs so far' }).getByText('It repaired 8 KiB.').waitFor({ timeout: 30_000 });
  await page.getByRole('button', { name: 'Change' }).click();
  await page.getByLabel('How often').selectOption('week');
  await page.getByRole('textbox', { name: 'Time' }).fill('04:30');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText(/^It is scrubbed every Sunday at 04:30, next on/).waitFor();
});

test('the last copy cannot be switched off, and the page says why', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Fstorage%2Fpools%2Ftank');
  expect(/status of 409/);
  await signInBy(page);
  const rows = page.getByRole('grid', { name: 'Disks of the pool' }).getByRole('row');
  await rows.filter({ hasText: 'data3' }).getByRole('button', { name: 'Switch off' }).click();
  await rows.filter({ hasText: 'data3' }).getByText('switched off').waitFor();
  await rows.filter({ hasText: 'data4' }).getByRole('button', { name: 'Switch off' }).click();
  await page.getByText(/without it mirror-1 would not hold all data any more/).waitFor();
  await rows.filter({ hasText: 'data3' }).getByRole('button', { name: 'Take into use' }).click();
  await page.getByText(/Healthy\. 4 disks/).waitFor({ timeout: 30_000 });
});

test('a pool is exported, imported again, and destroyed by its name', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Fstorage%2Fpools%2Ftank');
  // The page of a pool that has just been given up asks for it once more.
  expect(/status of 404/);
  await signInBy(page);
  await page.getByRole('button', { name: 'Export' }).click();
  await page.getByRole('dialog').getByRole('textbox').fill('tank');
  await page.getByRole('button', { name: 'Export the pool' }).click();
  await page.getByRole('region', { name: 'Pool tank' }).waitFor({ state: 'detached', timeout: 30_000 });
  await page.getByRole('button', { name: 'Import a pool' }).click();
  const found = page.getByRole('region', { name: 'Pool tank' });
  await found.getByText('It is whole and can be imported.').waitFor();
  await lookAt(page, 'storage-import-found');
  await found.getByRole('button', { name: 'Import the pool' }).click();
  await page.getByRole('heading', { level: 1, name: 'tank' }).waitFor({ timeout: 30_000 });
  await page.getByRole('button', { name: 'Destroy' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(/every measurement that was ever stored/).waitFor();
  await dialog.getByRole('textbox').fill('tan');
  await dialog.getByRole('button', { name: 'Destroy the pool' }).hover();
  await page.getByText('Type “tank” first.').waitFor();
  await lookAt(page, 'storage-destroy');
  await dialog.getByRole('textbox').fill('tank');
  await dialog.getByRole('button', { name: 'Destroy the pool' }).click();
  await page.getByRole('heading', { level: 1, name: 'Storage' }).waitFor();
  await page.getByRole('region', { name: 'Pool tank' }).waitFor({ state: 'detached', timeout: 30_000 });
});
