// Datasets and snapshots as managed without knowledge of ZFS' commands.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
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
});
after(async () => {
  await someone?.close();
  await stack?.stop();
});

const write = (path: string, bytes: number, text: string, dataset = 'tank/home') =>
  stack.simulate('dataset-write', { dataset, path, bytes, text });
const make = (name: string, more: object = {}) =>
  api.get('POST', '/api/datasets', { name, kind: 'filesystem', properties: { mountpoint: `/srv/${name}` }, ...more });
const take = (dataset: string, name: string) =>
  api.get('POST', '/api/snapshots', { datasets: [dataset], name, recursive: false });

const tab = (page: Page, name: string) =>
  page.getByRole('navigation', { name: /^(Dataset|Snapshot)$/ }).getByRole('link', { name });
const dialog = (page: Page) => page.getByRole('dialog');
async function typeName(page: Page, name: string, action: string): Promise<void> {
  await dialog(page).getByLabel(`Type “${name}” to confirm`).fill(name);
  await dialog(page).getByRole('button', { name: action, exact: true }).click();
  await dialog(page).waitFor({ state: 'detached' });
}

test('a dataset is created, changed, reset to what is inherited, and destroyed', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Fstorage');
  await signInBy(page);
  await page.getByRole('navigation', { name: 'Storage' }).getByRole('link', { name: 'Datasets' }).click();
  await page.getByRole('heading', { level: 1, name: 'Datasets' }).waitFor();
  await page.getByRole('button', { name: 'New dataset' }).click();
  await page.getByLabel('Below').selectOption('tank');
  await page.getByLabel(exactly('Name')).fill('bad@name');
  expect(/status of 400/);
  await page.getByRole('button', { name: 'Create the dataset' }).click();
  await page.getByText(/letters, digits/).waitFor();
  await page.getByLabel(exactly('Name')).fill('home');
  await page.getByText(/letters, digits/).waitFor({ state: 'detached' });
  await page.getByLabel('Mount point').fill('/srv/home');
  await page.getByLabel('Quota').fill('1 GiB');
  await page.getByLabel('Compression').selectOption('zstd-3');
  await page.getByText(/A quarter to a third smaller than lz4/).waitFor();
  await lookAt(page, 'dataset-new-filled');
  await page.getByRole('button', { name: 'Create the dataset' }).click();
  await page.getByRole('heading', { level: 1, name: 'tank/home' }).waitFor();
  await page.getByText(/compressed 1 : 1 with zstd-3\. There is no snapshot of it\./).waitFor();

  const row = (name: string) =>
    page.getByRole('grid', { name: 'Properties' }).getByRole('row', { name: new RegExp(`^${name} `) });
  await row('quota').getByText('1 GiB').waitFor();
  await page.getByRole('button', { name: 'Change quota' }).click();
  await dialog(page).getByLabel('quota').fill('much');
  await dialog(page).getByRole('button', { name: 'Save' }).hover();
  await page.getByText('Write it as a size, such as 10 GiB.').waitFor();
  await dialog(page).getByLabel('quota').fill('2 GiB');
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await row('quota').getByText('2 GiB').waitFor();
  await row('atime').getByText('inherited from').waitFor();
  await page.getByRole('button', { name: 'Change atime' }).click();
  await dialog(page).getByLabel('atime').selectOption('on');
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await row('atime').getByText('set here').waitFor();
  await page.getByRole('button', { name: 'Reset to inherited: atime' }).click();
  await row('atime').getByText('inherited from').waitFor();

  await make('tank/home/ada');
  await take('tank/home/ada', 'monday');
  await api.get('POST', '/api/snapshots/hold', { names: ['tank/home/ada@monday'], tag: 'audit' });
  await page.getByRole('button', { name: 'Destroy' }).click();
  await dialog(page).getByText('tank/home/ada@monday has 1 hold').waitFor();
  await lookAt(page, 'dataset-destroy-hindered');
  await dialog(page).getByRole('button', { name: 'Close', exact: true }).last().click();
  await api.get('POST', '/api/snapshots/release', { names: ['tank/home/ada@monday'], tag: 'audit' });
  await page.getByRole('button', { name: 'Destroy' }).click();
  await dialog(page)
    .getByText(/with 1 dataset below it and 1 snapshot/)
    .waitFor();
  // The page may hear that something has changed, and ask once more, before it has left.
  expect(/status of 404/);
  await typeName(page, 'tank/home', 'Destroy the dataset');
  await page.getByRole('heading', { level: 1, name: 'Datasets' }).waitFor();
  await page.getByRole('link', { name: 'home', exact: true }).waitFor({ state: 'detached' });
});

test('a snapshot is taken and held, and the dataset goes back to it without losing anything', async (t) => {
  await make('tank/home');
  await write('letters/ann.txt', 5000, 'Dear Ann\n');
  const { page } = await someone.visit(
    t,
    `/sign-in?to=${encodeURIComponent('/storage/datasets/tank%2Fhome/snapshots')}`,
  );
  await signInBy(page);
  await page.getByRole('button', { name: 'Take a snapshot' }).click();
  await dialog(page).getByLabel('Name of the snapshot').fill('before');
  await dialog(page).getByRole('button', { name: 'Take it now' }).click();
  await page.getByRole('link', { name: 'before', exact: true }).waitFor();
  await new Promise((done) => setTimeout(done, 1100));
  await write('letters/bob.txt', 300_000, 'Dear Bob\n');
  await take('tank/home', 'after');
  await page.getByRole('link', { name: 'after', exact: true }).waitFor();
  await page.getByRole('checkbox', { name: 'Choose after' }).check();
  await page.getByRole('button', { name: 'Hold', exact: true }).click();
  await dialog(page).getByLabel(exactly('What for')).fill('audit');
  await dialog(page).getByRole('button', { name: 'Hold', exact: true }).click();
  await page.getByText('held', { exact: true }).waitFor();
  await lookAt(page, 'dataset-snapshots-held');

  await page.getByRole('link', { name: 'before', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'tank/home@before' }).waitFor();
  await tab(page, 'Files').click();
  await page.getByRole('link', { name: 'letters/' }).click();
  const download = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Download ann.txt' }).click();
  const content = await readFile(await (await download).path(), 'utf8');
  assert.equal(content.length, 5000);
  assert.ok(content.startsWith('Dear Ann\nDear Ann\n'));
  await tab(page, 'Changes').click();
  await page.getByRole('row', { name: /added letters\/bob\.txt/ }).waitFor();
  // Between two snapshots: what came after the later one is not listed.
  await write('letters/eve.txt', 10, 'Dear Eve\n');
  await page.getByLabel('From this snapshot to').selectOption('after');
  await page.getByRole('row', { name: /added letters\/bob\.txt/ }).waitFor();
  assert.equal(await page.getByRole('row', { name: /eve\.txt/ }).count(), 0);
  await lookAt(page, 'snapshot-compared');

  await tab(page, 'Roll back').click();
  await page.getByRole('list', { name: 'Newer snapshots' }).getByText('tank/home@after').waitFor();
  await page.getByRole('radio', { name: /Lose it/ }).check();
  await page.getByRole('button', { name: 'Roll back' }).hover();
  await page
    .locator('[role=tooltip]:visible')
    .getByText(/is newer\. It has 1 hold\./)
    .waitFor();
  await page.getByRole('radio', { name: /Keep it as a dataset of its own/ }).check();
  await lookAt(page, 'snapshot-rollback');
  await page.getByRole('button', { name: 'Roll back' }).click();
  await dialog(page)
    .getByText(/kept as a dataset of its own/)
    .waitFor();
  await typeName(page, 'tank/home', 'Roll back');
  await page.getByText('It is as it was at “tank/home@before”.').waitFor();
  await page.getByRole('link', { name: /tank\/home-before-rollback/ }).click();
  await tab(page, 'Snapshots').click();
  await page.getByRole('link', { name: 'after', exact: true }).waitFor();
  await page.getByText('before the rollback to before').waitFor();
});

test('a snapshot and a dataset get another name, and one that exists is refused', async (t) => {
  await make('tank/old');
  await make('tank/taken');
  await take('tank/old', 'first');
  const { page, expect } = await someone.visit(
    t,
    `/sign-in?to=${encodeURIComponent('/storage/datasets/tank%2Fold/snapshots/first')}`,
  );
  await signInBy(page);
  await page.getByRole('button', { name: 'Rename', exact: true }).click();
  await dialog(page).getByLabel('New name, behind the @').fill('kept');
  await dialog(page).getByRole('button', { name: 'Rename', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'tank/old@kept' }).waitFor();
  await page.goto(`${stack.url}/storage/datasets/tank%2Fold`);
  await page.getByRole('button', { name: 'Rename', exact: true }).click();
  await dialog(page).getByLabel(exactly('New name')).fill('tank/taken');
  // And the old name may be asked for again before the page is at the new one.
  expect(/status of 40[04]/);
  await dialog(page).getByRole('button', { name: 'Rename', exact: true }).click();
  await dialog(page)
    .getByText(/exists already/)
    .waitFor();
  await dialog(page).getByLabel(exactly('New name')).fill('tank/new');
  await dialog(page).getByRole('button', { name: 'Rename', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'tank/new' }).waitFor();
  assert.equal(new URL(page.url()).pathname, '/storage/datasets/tank%2Fnew');
});

test('a snapshot is cloned, and the clone keeps it', async (t) => {
  await make('tank/site');
  await take('tank/site', 'live');
  const { page } = await someone.visit(
    t,
    `/sign-in?to=${encodeURIComponent('/storage/datasets/tank%2Fsite/snapshots/live')}`,
  );
  await signInBy(page);
  await page.getByRole('button', { name: 'Clone', exact: true }).click();
  await dialog(page).getByLabel(exactly('Name of the clone')).fill('tank/site-test');
  await dialog(page).getByRole('button', { name: 'Make the clone' }).click();
  await page.getByRole('heading', { level: 1, name: 'tank/site-test' }).waitFor();
  await page.getByText(/It is a clone of tank\/site@live\./).waitFor();
  await page.goto(`${stack.url}/storage/datasets/tank%2Fsite/snapshots`);
  await page.getByRole('checkbox', { name: 'Choose live' }).check();
  await page.getByRole('button', { name: 'Destroy', exact: true }).last().click();
  await typeName(page, 'live', 'Destroy');
  await page.getByText('1 snapshot was not destroyed').waitFor();
  await page.getByText(/origin of the clone tank\/site-test/).waitFor();
});

test('a schedule is added, changed and removed', async (t) => {
  await make('tank/mail');
  const { page } = await someone.visit(t, '/sign-in?to=%2Fstorage%2Fschedules');
  await signInBy(page);
  await page.getByText('No snapshots are scheduled', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'New schedule' }).click();
  await dialog(page).getByLabel('Dataset', { exact: true }).selectOption('tank/mail');
  await dialog(page).getByLabel('When').selectOption('day');
  await dialog(page)
    .getByRole('textbox', { name: exactly('At') })
    .fill('25:00');
  await dialog(page).getByRole('button', { name: 'Add the schedule' }).hover();
  await page.getByText('Write the time as HH:MM.').waitFor();
  await dialog(page)
    .getByRole('textbox', { name: exactly('At') })
    .fill('02:30');
  await dialog(page).getByLabel('One an hour, for so many hours').fill('0');
  await lookAt(page, 'schedule-form');
  await dialog(page).getByRole('button', { name: 'Add the schedule' }).click();
  const list = page.getByRole('list', { name: 'Snapshot schedules' });
  await list.getByText('Every day at 02:30; keeps the newest 4, and one of each of 7 days and 4 weeks.').waitFor();
  await list.getByText(/^Next in /).waitFor();
  await page.getByRole('button', { name: 'Change the schedule of tank/mail' }).click();
  await dialog(page).getByLabel('Enabled').uncheck();
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await list.getByText(/Switched off/).waitFor();
  await page.getByRole('button', { name: 'Remove the schedule of tank/mail' }).click();
  await typeName(page, 'tank/mail', 'Remove the schedule');
  await page.getByText('No snapshots are scheduled', { exact: true }).waitFor();
});

test('compression is estimated before it is chosen', async (t) => {
  await make('tank/logs');
  await write('access.log', 5_000_000, 'GET / 200\n', 'tank/logs');
  const { page } = await someone.visit(
    t,
    `/sign-in?to=${encodeURIComponent('/storage/datasets/tank%2Flogs/compression')}`,
  );
  await signInBy(page);
  await page.getByRole('button', { name: 'Estimate' }).click();
  const table = page.getByRole('grid', { name: 'Estimate' });
  await table.getByRole('row', { name: /^zstd-3 2.9 : 1 .*Saves 66 % of the space/ }).waitFor();
  await table.getByRole('row', { name: /^off 1 : 1 none/ }).waitFor();
  await lookAt(page, 'dataset-estimate');
  await page.getByLabel('Compression').selectOption('zstd-3');
  await page.getByRole('button', { name: 'Use it from now on' }).click();
  await page.getByText(/compressed 2.9 : 1 with zstd-3/).waitFor();
  await page.getByRole('button', { name: 'Reset to inherited' }).click();
  await page.getByText(/Now inherited from tank/).waitFor();
});

test('an encrypted dataset is locked and opened again', async (t) => {
  await make('tank/safe', { encryption: { format: 'passphrase', passphrase: 'correct horse' } });
  const { page, expect } = await someone.visit(
    t,
    `/sign-in?to=${encodeURIComponent('/storage/datasets/tank%2Fsafe/key')}`,
  );
  await signInBy(page);
  await page.getByRole('button', { name: 'Lock it now' }).click();
  await page.getByText(/Locked\. Its key is not loaded/).waitFor();
  // And the old name may be asked for again before the page is at the new one.
  expect(/status of 409/);
  await page.getByLabel('Passphrase').fill('wrong horse');
  await page.getByRole('button', { name: 'Load the key' }).click();
  await page.getByText(/not the right one/).waitFor();
  await lookAt(page, 'dataset-locked');
  await page.getByLabel('Passphrase').fill('correct horse');
  await page.getByRole('button', { name: 'Load the key' }).click();
  await page.getByRole('heading', { name: 'The key is loaded' }).waitFor();
});
