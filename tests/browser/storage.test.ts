// Pools and disks as they fail: what is drawn, what is said, and that it is live.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Person as ApiPerson, setUp } from '../stack/api.ts';
import type { Stack } from '../stack/stack.ts';
import { lookAt, type Person, person, signInBy, withStack } from './browser.ts';

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

test('a disk that is pulled shows at once, on every page that is open', async (t) => {
  const { page } = await someone.visit(t, '/sign-in?to=%2Fstorage');
  await signInBy(page);
  const tank = page.getByRole('region', { name: 'Pool tank' });
  await tank.getByText('Healthy.').waitFor();
  await stack.simulate('disk-remove', { disk: 'data2' });
  await tank.getByRole('figure').getByText('removed').waitFor({ timeout: 30_000 });
  await page.getByText(/tank: Degraded/).waitFor();
  await lookAt(page, 'storage-degraded');

  await page.getByRole('link', { name: 'Status', exact: true }).click();
  await page
    .getByText(/Degraded/)
    .first()
    .waitFor();
  await page.getByRole('button', { name: /active alert/ }).waitFor({ timeout: 30_000 });
  await lookAt(page, 'status-degraded');

  await stack.simulate('pool-heal', { pool: 'tank' });
  await page.getByRole('link', { name: 'Storage', exact: true }).click();
  await tank.getByText('Healthy.').waitFor({ timeout: 30_000 });
});

test('a disk is known by its world-wide name and the place where it is plugged in', async (t) => {
  const { page } = await someone.visit(t, '/sign-in?to=%2Fstorage');
  await signInBy(page);
  const row = page.getByRole('grid', { name: 'Disks' }).getByRole('row').filter({ hasText: 'data1' });
  await row.getByText('WWN 0x5000c500a1b2c3d1').waitFor();
  await row.getByText('pci-0000:02:00.0-sas-phy1-lun-0').waitFor();
  await row.getByRole('link', { name: 'data1' }).click();
  await page.getByRole('region', { name: 'Facts' }).getByText('0x5000c500a1b2c3d1').waitFor();
  await page.getByRole('region', { name: 'Facts' }).getByText('pci-0000:02:00.0-sas-phy1-lun-0').waitFor();
});

test('a pool from a disk that is added; a disk in use says why it cannot be chosen', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Fstorage');
  await signInBy(page);
  const create = page.getByRole('button', { name: 'Create a pool' });
  await create.hover();
  await page.getByText('Every disk is in use. Add a disk first.').waitFor();
  await stack.simulate('disk-add', { name: 'spare1', bytes: 4 * 2 ** 30 });
  await stack.simulate('disk-add', { name: 'spare2', bytes: 4 * 2 ** 30 });
  await stack.simulate('disk-add', { name: 'fast1', bytes: 2 ** 30 });
  await page.getByText('spare2', { exact: true }).waitFor({ timeout: 30_000 });
  await create.click();
  await page
    .getByRole('checkbox', { name: /^data1/ })
    .and(page.locator(':disabled'))
    .waitFor();
  await page.getByText('It is part of the pool “tank”.').first().waitFor();
  await page.getByRole('radio', { name: /recommended/ }).waitFor();
  await lookAt(page, 'storage-new-free');

  expect(/status of (400|409)/);
  await page.getByLabel('Name of the pool').fill('tank');
  await page.getByRole('button', { name: 'Create the pool' }).click();
  await page
    .getByText(/exists/i)
    .first()
    .waitFor();
  await page.getByLabel('Name of the pool').fill('archive');
  await page.getByRole('checkbox', { name: /^Use some of them/ }).check();
  await page.getByLabel('What fast1 is for').selectOption('Metadata and small blocks');
  await page.getByRole('button', { name: 'Create the pool' }).click();
  await page.getByText(/a disk without a second copy would put all of it at risk/).waitFor();
  await page.getByLabel('What fast1 is for').selectOption('Log');
  await page.getByText(/^Log: 1 disk\. Takes writes/).waitFor();
  await page.getByRole('radio', { name: /^Mirror.* recommended/ }).waitFor();
  await lookAt(page, 'storage-new-log');
  await page.getByRole('button', { name: 'Create the pool' }).click();
  await page.getByRole('region', { name: 'Pool archive' }).waitFor();
  const made = await api.get<{ vdevs: { type: string }[] }>('GET', '/api/pools/archive');
  assert.deepEqual(made.vdevs.map(({ type }) => type).sort(), ['log', 'mirror']);
  await page.getByRole('button', { name: 'Jobs' }).click();
  await page
    .getByRole('dialog', { name: 'Jobs' })
    .getByText(/archive/)
    .first()
    .waitFor();
});

test('a viewer sees why a control is disabled', async (t) => {
  // There is one user in this slice; what a viewer would see is decided by the session the page reads.
  const { page } = await someone.visit(t, '/sign-in?to=%2Fservices');
  await page.route('**/api/session', async (route) => {
    const response = await route.fetch();
    const session = await response.json();
    if (session.user) session.user.role = 'viewer';
    await route.fulfill({ response, json: session });
  });
  await signInBy(page);
  await page.getByRole('button', { name: 'Restart Telemetry store' }).hover();
  await page.getByText('You are signed in as viewer; this needs an operator.').waitFor();
  await api.get('GET', '/api/session');
});
