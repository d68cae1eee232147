// Pools and disks as an operator works with them: a disk replaced, a scrub, a pool exported, imported and destroyed.
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { type Person as ApiPerson, setUp } from '../stack/api.ts';
import { until } from '../stack/http.ts';
import type { Stack } from '../stack/stack.ts';
import { exactly, lookAt, type Person, person, signInBy, withStack } from './browser.ts';

const GIB = 2 ** 30;
const id = (name: string) => `scsi-0QEMU_QEMU_HARDDISK_${name}`;

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

const dialog = (page: Page) => page.getByRole('dialog');
const at = (path: string) => `/sign-in?to=${encodeURIComponent(path)}`;
/** Away from what was explained: a bubble that is in the way of the pictures, and stands outside of the page. */
async function away(page: Page): Promise<void> {
  await page.mouse.move(0, 0);
  await page.getByRole('tooltip').waitFor({ state: 'detached' });
}
async function menu(page: Page, disk: string, item: string): Promise<void> {
  await page.getByRole('button', { name: `What to do with ${disk}`, exact: true }).click();
  await page.getByRole('menuitem', { name: item }).click();
}

test('a disk that was pulled is replaced by one that is plugged in while the page is open', async (t) => {
  await stack.simulate('disk-remove', { disk: 'data2' });
  const { page } = await someone.visit(t, at('/storage'));
  await signInBy(page);
  await page.getByRole('region', { name: 'Pool tank' }).getByRole('link', { name: 'tank', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'tank' }).waitFor();
  await page
    .getByText(/data2 was removed/)
    .first()
    .waitFor({ timeout: 30_000 });
  await lookAt(page, 'pool-degraded');
  await page.getByRole('link', { name: 'Replace it' }).click();
  await page.getByText(/data2 was removed\. What it held is copied/).waitFor();
  await page.getByText('No disk is free yet.').waitFor();
  await page.getByRole('button', { name: 'Replace the disk' }).hover();
  await page.getByText('Insert a new disk, or choose one, first.').waitFor();

  await stack.simulate('disk-add', { name: 'small', bytes: GIB });
  await stack.simulate('disk-add', { name: 'used', bytes: 2 * GIB });
  await stack.simulate('disk-occupy', { disk: 'used', occupant: 'It carries an ext4 file system.' });
  await stack.simulate('disk-add', { name: 'large', bytes: 4 * GIB });
  await page.getByRole('radio', { name: /^large 4 GiB recommended/ }).waitFor();
  await page.getByText(/It holds 1 GiB; 2 GiB are needed/).waitFor();
  await page
    .getByRole('radio', { name: /^small/ })
    .and(page.locator(':disabled'))
    .waitFor();
  await page.getByRole('radio', { name: /^used/ }).and(page.locator(':disabled')).waitFor();
  await away(page);
  await lookAt(page, 'pool-replace-chosen');

  // A disk with data of another system is refused until its name was typed; then it is the better choice.
  await page.getByRole('button', { name: 'Erase it… used' }).click();
  await dialog(page)
    .getByText(/It carries an ext4 file system/)
    .waitFor();
  await dialog(page)
    .getByLabel(`Type “${id('used')}” to confirm`)
    .fill('used');
  await dialog(page).getByRole('button', { name: 'Erase the disk' }).hover();
  await page
    .locator('[role=tooltip]:visible')
    .getByText(/first\.$/)
    .waitFor();
  await dialog(page)
    .getByLabel(`Type “${id('used')}” to confirm`)
    .fill(id('used'));
  await dialog(page).getByRole('button', { name: 'Erase the disk' }).click();
  await dialog(page).waitFor({ state: 'detached' });
  await page.getByRole('radio', { name: /^used 2 GiB recommended/ }).waitFor();

  await page.getByRole('button', { name: 'Replace the disk' }).click();
  await page
    .getByText(/^Replace disk .*data2 of pool “tank” with .*used$/)
    .first()
    .waitFor();
  await page.getByRole('progressbar', { name: /Resilver|resilver/ }).waitFor();
  await page.reload();
  await page.getByRole('button', { name: 'Cancel the replacement' }).waitFor();
  await lookAt(page, 'pool-replace-running');
  await page.getByText('Done: the pool is healthy again.').waitFor({ timeout: 60_000 });
  await lookAt(page, 'pool-replace-done');
  await page.getByRole('link', { name: 'To the pool “tank”' }).click();
  await page.getByText(/Healthy\. 4 disks in 2 mirrors/).waitFor();
});

test('a replacement that is cancelled leaves the pool as it was; one that runs is found without its address', async (t) => {
  const { page } = await someone.visit(t, at('/storage/pools/tank'));
  await signInBy(page);
  await menu(page, 'data3', 'Replace…');
  await page.getByText(/data3 works\. It can be replaced all the same/).waitFor();
  await page.getByRole('radio', { name: /^large/ }).check();
  await page.getByRole('button', { name: 'Replace the disk' }).click();
  await page.getByRole('button', { name: 'Cancel the replacement' }).waitFor();
  await page.goto(`${stack.url}/storage/pools/tank/replace?device=${id('data3')}`);
  await page.getByRole('button', { name: 'Cancel the replacement' }).click();
  await page.getByText('The replacement was cancelled. The new disk is free again.').waitFor();
  await page.getByRole('radio', { name: /^large/ }).waitFor();
});

test('a scrub is started, paused, resumed, stopped, and remembered; its schedule is changed', async (t) => {
  const { page } = await someone.visit(t, at('/storage/pools/tank'));
  await signInBy(page);
  const scan = page.getByRole('region', { name: 'Scrub and resilver' });
  await scan.getByRole('button', { name: 'Scrub now' }).click();
  await scan.getByText(/Less than a minute left\./).waitFor();
  await scan.getByRole('button', { name: 'Pause' }).click();
  await scan.getByText(/^The scrub is paused, \d+ % done\.$/).waitFor();
  await scan.getByText(/It does not go on until it is resumed\./).waitFor();
  await lookAt(page, 'pool-scrub-paused');
  await scan.getByRole('button', { name: 'Go on' }).click();
  await scan.getByText(/Scrub is running/).waitFor();
  await scan.getByRole('button', { name: 'Stop' }).click();
  await scan.getByText('Scrub was stopped before its end.').waitFor();
  const past = page.getByRole('list', { name: 'Past scrubs and resilvers' });
  await past.getByText('It was stopped before its end.').first().waitFor({ timeout: 30_000 });
  await scan.getByRole('button', { name: 'Scrub now' }).click();
  await past.getByText('It found nothing.').waitFor({ timeout: 60_000 });

  const scrubs = page.getByRole('region', { name: 'Scrubs', exact: true });
  await scrubs.getByText(/Scrubbed on the 1st of each month at 02:00\. Next/).waitFor();
  await scrubs.getByRole('button', { name: 'Change when' }).click();
  await dialog(page).getByLabel('When', { exact: true }).selectOption('Every week');
  await dialog(page).getByLabel('Day of the week').selectOption('Saturday');
  await dialog(page).getByLabel(exactly('At')).fill('25:00');
  await dialog(page).getByRole('button', { name: 'Save' }).hover();
  await page.getByText('Write the time as HH:MM.').waitFor();
  await dialog(page).getByLabel(exactly('At')).fill('03:30');
  await away(page);
  await lookAt(page, 'pool-scrub-schedule');
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await scrubs.getByText(/Scrubbed every Saturday at 03:30\. Next in \d+/).waitFor();
});

test('a mirror gets another side and gives it back; what would lose the last copy says why not', async (t) => {
  const { page } = await someone.visit(t, at('/storage/pools/tank'));
  await signInBy(page);
  await menu(page, 'data1', 'Attach another disk…');
  await dialog(page)
    .getByRole('radio', { name: /^large/ })
    .check();
  await lookAt(page, 'pool-attach');
  await dialog(page).getByRole('button', { name: 'Attach the disk' }).click();
  await dialog(page).waitFor({ state: 'detached' });
  await page.getByRole('progressbar', { name: /^Attach .*large to pool “tank”/ }).waitFor();
  await page
    .getByRole('figure', { name: /mirror-0/ })
    .getByText('large', { exact: true })
    .waitFor();
  await page.getByText(/Healthy\. 5 disks in 2 mirrors/).waitFor({ timeout: 60_000 });
  await menu(page, 'large', 'Detach…');
  await dialog(page).getByText('The other disks keep all data.').waitFor();
  await dialog(page).getByRole('button', { name: 'Detach it' }).click();
  await page.getByText(/Healthy\. 4 disks in 2 mirrors/).waitFor();

  await menu(page, 'data1', 'Switch off…');
  await dialog(page).getByRole('button', { name: 'Switch it off' }).click();
  await page
    .getByText(/data1 was taken offline/)
    .first()
    .waitFor();
  await page.getByRole('button', { name: 'What to do with used', exact: true }).click();
  const off = page.getByRole('menuitem', { name: /^Switch off…/ });
  await off.getByText('Without it mirror-0 would not hold all data any more.').waitFor();
  await lookAt(page, 'pool-device-menu');
  await page.keyboard.press('Escape');
  await menu(page, 'data1', 'Take into use again');
  await page.getByText(/Healthy\./).waitFor({ timeout: 30_000 });
});

test('the system pool gets a second disk that the appliance starts from', async (t) => {
  await stack.simulate('disk-add', { name: 'second', bytes: 16 * GIB });
  const { page } = await someone.visit(t, at('/storage/pools/system'));
  await signInBy(page);
  await page.getByRole('button', { name: 'Destroy' }).hover();
  await page.getByText('The appliance itself lives on it.').waitFor();
  await page.getByText('With a second one it runs on, and starts from either.').waitFor();
  await away(page);
  await lookAt(page, 'pool-system');
  await page.getByRole('button', { name: 'Add a second system disk' }).click();
  await dialog(page)
    .getByText(/It holds 4 GiB; 16 GiB are needed/)
    .waitFor();
  await dialog(page)
    .getByRole('radio', { name: /^second/ })
    .and(page.locator(':checked'))
    .waitFor();
  await dialog(page).getByRole('button', { name: 'Add the disk' }).click();
  await page.getByText(/Healthy\. 2 disks in 1 mirror/).waitFor({ timeout: 60_000 });
  await page.getByText('The appliance is on a single disk').waitFor({ state: 'detached' });
});

test('disks are added, as safe as those that are there; properties, features, damage and history', async (t) => {
  const { page } = await someone.visit(t, at('/storage/pools/tank'));
  await signInBy(page);
  await page.getByRole('button', { name: 'Add disks…' }).click();
  await page.getByRole('radio', { name: 'Spare' }).waitFor();
  await page.getByRole('checkbox', { name: /^large/ }).check();
  await page.getByText(/would put all of the pool at risk/).waitFor();
  await page.getByRole('button', { name: 'Add 1 disk' }).hover();
  await page.getByText('These disks cannot be laid out so that the pool stays as safe as it is.').waitFor();
  await away(page);
  await lookAt(page, 'pool-add-chosen');
  await page.getByRole('radio', { name: 'Spare' }).check();
  await page.getByRole('button', { name: 'Add 1 disk' }).click();
  await page.getByRole('heading', { level: 1, name: 'tank', exact: true }).waitFor();
  await page.getByText('ready to stand in').waitFor();
  await menu(page, 'large', 'Take out of the pool…');
  await dialog(page).getByRole('button', { name: 'Take it out' }).click();
  await page.getByText('ready to stand in').waitFor({ state: 'detached' });

  await page.getByRole('textbox', { name: 'Comment' }).fill('rack 3');
  await page.getByRole('button', { name: 'Save the comment' }).click();
  await page.getByRole('button', { name: 'Save the comment', disabled: true }).waitFor();
  const grow = page.getByRole('switch', { name: /^Grow when/ });
  // While one change is under way, the next one waits: a click that is forced would be lost.
  await grow.and(page.locator(':enabled')).waitFor({ state: 'attached' });
  await grow.click({ force: true });
  await grow.and(page.locator(':checked')).waitFor({ state: 'attached' });
  await stack.simulate('pool-outdated', { pool: 'tank' });
  await stack.simulate('pool-damage', { pool: 'tank', files: ['/srv/telemetry/blocks/1.block'] });
  await page
    .getByRole('list', { name: 'Damaged files' })
    .getByText('/srv/telemetry/blocks/1.block')
    .waitFor({ timeout: 30_000 });
  await page.getByRole('button', { name: 'Upgrade features' }).waitFor();
  await lookAt(page, 'pool-damaged');
  await page.getByRole('button', { name: 'Upgrade features' }).click();
  await dialog(page)
    .getByText(/An older system.* can no longer import it/)
    .waitFor();
  await dialog(page).getByRole('button', { name: 'Upgrade', exact: true }).click();
  await page.getByRole('button', { name: 'Upgrade features' }).waitFor({ state: 'detached' });
  await stack.simulate('pool-heal', { pool: 'tank' });
  await page.getByRole('navigation', { name: 'Pool', exact: true }).getByRole('link', { name: 'History' }).click();
  await page.getByText('zpool set comment=rack 3 tank').waitFor();
  await page.getByText('zpool set autoexpand=on tank').waitFor();
  await lookAt(page, 'pool-history-changed');
});

test('what a disk says of itself, and a test of it', async (t) => {
  const { page } = await someone.visit(t, at('/storage'));
  // The simulated disks say nothing; this one answers as a worn SSD does.
  let testing = false;
  const health = () => ({
    lit: false,
    ...{
      firmware: 'EDA7702Q',
      supported: true,
      passed: true,
      temperatureCelsius: 41,
      powerOnHours: 20_000,
      wearRatio: 0.37,
    },
    ...{
      reallocatedSectors: 2,
      pendingSectors: 0,
      testRunning: testing ? { percent: 30 } : null,
      ageSeconds: 1,
      error: null,
    },
    selfTests: [{ kind: 'Short offline', result: 'Completed without error', passed: true, atPowerOnHours: 19_990 }],
    sentence: 'It says that it is well. 41 °C, 20,000 hours in use, 37 % worn, 2 sectors replaced.',
  });
  await page.route(`**/api/disks/${id('data4')}/health`, (route) => route.fulfill({ json: health() }));
  await page.route(`**/api/disks/${id('data4')}/self-test`, (route) => {
    testing = true;
    return route.fulfill({ json: health() });
  });
  await signInBy(page);
  const disks = page.getByRole('grid', { name: 'Disks' });
  await disks.getByRole('link', { name: 'data4' }).click();
  await page.getByText('It says that it is well.').first().waitFor();
  await page.getByText('EDA7702Q').waitFor();
  await page.getByRole('button', { name: 'Start short test' }).click();
  await page.getByRole('progressbar', { name: 'A test is running' }).waitFor();
  await lookAt(page, 'disk-health');
  await page.goto(`${stack.url}/storage/disks/${id('data3')}`);
  await page.getByText('This disk does not say how it is.').first().waitFor();
  await page.getByRole('button', { name: 'Start long test' }).hover();
  await page.getByText('This disk cannot be asked to test itself.').waitFor();
  await page.getByRole('button', { name: 'Light its slot' }).click();
  await page.getByText('The light of its slot is on.').waitFor();
  await page.getByRole('button', { name: 'Switch the light of its slot off' }).click();
  await page.getByRole('button', { name: 'Light its slot' }).waitFor();
});

test('a pool is exported and imported, by force only after the warning', async (t) => {
  const { page, expect } = await someone.visit(t, at('/storage/pools/tank'));
  // Its own page is still open when it goes, and may ask for it again.
  expect(/status of 404 .*\/api\/pools\/tank/);
  await signInBy(page);
  await page.getByRole('button', { name: 'Export' }).click();
  await dialog(page)
    .getByText(/The measurements are on it/)
    .waitFor();
  await lookAt(page, 'pool-export');
  await dialog(page).getByRole('button', { name: 'Export the pool' }).click();
  await page.getByText('The pool “tank” is exported.').waitFor();
  const card = page.getByRole('region', { name: 'Pool tank' });
  await card.getByText('It is whole and can be imported.').waitFor();
  await stack.simulate('pool-elsewhere', { pool: 'tank' });
  await page.reload();
  await card
    .getByText(/Another machine has used it last/)
    .first()
    .waitFor();
  await card.getByRole('button', { name: 'Import the pool' }).hover();
  await page.getByText('Make sure first that no other machine uses it.').waitFor();
  await away(page);
  await lookAt(page, 'pool-import-found');
  await card.getByLabel('Name of the pool here').fill('vault');
  await card.getByRole('checkbox', { name: /by force/ }).check();
  await card.getByRole('button', { name: 'Import the pool' }).click();
  await page.getByRole('link', { name: 'To the pool “vault”' }).click();
  await page.getByRole('heading', { level: 1, name: 'vault' }).waitFor();
  await page.getByText(/Healthy\./).waitFor();
});

test('a pool is destroyed only by typing its name', async (t) => {
  const { page, expect } = await someone.visit(t, at('/storage/pools/vault'));
  // Its own page is still open when it goes, and may ask for it again.
  expect(/status of 404 .*\/api\/pools\/vault/);
  await signInBy(page);
  await page.getByRole('button', { name: 'Destroy' }).click();
  await dialog(page)
    .getByText(/every dataset and every snapshot on it, and the measurements/)
    .waitFor();
  await dialog(page).getByLabel('Type “vault” to confirm').fill('tank');
  await dialog(page).getByRole('button', { name: 'Destroy the pool' }).hover();
  await page.getByText('Type “vault” first.').waitFor();
  await away(page);
  await lookAt(page, 'pool-destroy');
  await dialog(page).getByLabel('Type “vault” to confirm').fill('vault');
  await dialog(page).getByRole('button', { name: 'Destroy the pool' }).click();
  await page.getByRole('heading', { level: 1, name: 'Storage' }).waitFor();
  await page.getByRole('region', { name: 'Pool vault' }).waitFor({ state: 'detached' });
  await until('the pool is gone', async () => {
    const { items } = await api.get<{ items: { name: string }[] }>('GET', '/api/pools');
    return items.every(({ name }) => name === 'system') || undefined;
  });
});
