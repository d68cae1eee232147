// A support bundle: made with one button, its steps seen, downloaded, opened, deleted. And who may poll by SNMP, and power.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { setUp, signIn } from '../stack/api.ts';
import { until } from '../stack/http.ts';
import type { Stack } from '../stack/stack.ts';
import { exactly, lookAt, type Person, person, signInBy, withStack } from './browser.ts';

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

test('a bundle is made, downloaded and deleted', async (t) => {
  const { page } = await someone.visit(t, '/sign-in?to=%2Fmaintenance');
  await signInBy(page);
  await page.getByText('No bundle has been made').waitFor();
  await page.getByRole('button', { name: 'Make a support bundle' }).click();
  const bundle = page.getByRole('region', { name: /^Support bundle \S/ });
  await bundle.waitFor();
  const link = bundle.getByRole('link', { name: /^Download/ });
  await link.waitFor({ timeout: 60_000 });
  await bundle.getByRole('button', { name: 'Show the steps' }).click();
  await bundle.getByRole('list', { name: 'Steps' }).waitFor();
  await bundle.getByText(/the bundle is still useful|steps ended well/).waitFor();
  await lookAt(page, 'maintenance-steps');

  const [download] = await Promise.all([page.waitForEvent('download'), link.click()]);
  const file = await download.path();
  assert.match(download.suggestedFilename(), /\.tar\.zst$/);
  const names = execFileSync('tar', ['--zstd', '-tf', file], { encoding: 'utf8' });
  assert.match(names, /manifest/);

  const name = ((await bundle.getByRole('heading').first().textContent()) ?? '').trim();
  await bundle.getByRole('button', { name: /^Delete/ }).click();
  await page.getByRole('dialog').getByRole('textbox').fill(name);
  await page.getByRole('button', { name: 'Delete the bundle' }).click();
  await page.getByText('No bundle has been made').waitFor();
});

test('who may poll by SNMP is decided, and its secrets are never shown again', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Fmaintenance%2Fsnmp');
  expect(/status of 400/);
  await signInBy(page);
  const form = page.getByRole('form', { name: 'Save who may poll' });
  await form.getByText('Answer SNMP polls').click();
  await form.getByRole('button', { name: 'Save who may poll' }).click();
  await form.getByText('is missing').first().waitFor();
  await form.getByLabel('Community', { exact: true }).fill('c4nary-Poll');
  await form.getByLabel('Taken from').fill('192.0.2.0/24 10.0.0.0/33');
  await form.getByLabel('SNMPv3 user').fill('poller');
  await form.getByLabel('Authentication password').fill('c4nary auth');
  await form.getByLabel('Privacy password').fill('c4nary priv');
  await form.getByLabel('Location').fill('rack 7');
  await form.getByRole('button', { name: 'Save who may poll' }).click();
  await form.getByText('must be a network').first().waitFor();
  await form.getByLabel('Taken from').fill('192.0.2.0/24');
  await form.getByRole('button', { name: 'Save who may poll' }).click();
  await form.getByText('Saved: polls are answered.').waitFor();
  await page.reload();
  await form.getByText('Stored; type here only to change it.').first().waitFor();
  assert.equal(await form.getByLabel('Community', { exact: true }).inputValue(), '');
  assert.equal(await form.getByLabel('Location').inputValue(), 'rack 7');
  assert.ok(!(await page.content()).includes('c4nary'));
  await form.scrollIntoViewIfNeeded();
  await lookAt(page, 'maintenance-snmp');
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'download it' }).click(),
  ]);
  assert.match(readFileSync(await download.path(), 'utf8'), /^CISTERN-MIB DEFINITIONS/);
  await form.getByText('Answer SNMP polls').click();
  await form.getByRole('button', { name: 'Save who may poll' }).click();
  await form.getByText('Saved: polls are not answered.').waitFor();
});

test('the machine itself: a clock without a server, a cable that is out and forgotten, heat', async (t) => {
  const { page } = await someone.visit(t, '/sign-in?to=%2Fmaintenance%2Fmachine');
  await signInBy(page);
  const api = await signIn(stack);
  const links = page.getByRole('grid', { name: 'Network links' });
  await page.getByText(/It follows time\.example, 2\.1 ms apart from it\./).waitFor();
  await links.getByText('It is up, with 10 Gbit/s.').waitFor();
  await links.getByText('Nothing was ever plugged in.').waitFor();
  await links.getByText('192.0.2.10/24 by DHCP').waitFor();
  await links.getByText('fe80::5eff:fe10:1/64 autoconfigured').waitFor();
  await links.getByText('02:00:5e:10:00:01, MTU 1500').waitFor();
  await lookAt(page, 'maintenance-machine');
  await stack.simulate('link', { name: 'eno1', carrier: false });
  await stack.simulate('temperature', { id: 'coretemp/0', celsius: 91 });
  await stack.simulate('time', { synchronised: false, source: null, answeredAt: null, offsetSeconds: null });
  const forget = page.getByRole('button', { name: 'Forget the network link eno1' });
  await forget.waitFor({ timeout: 30_000 });
  const temperatures = page.getByRole('grid', { name: 'Temperatures' });
  await temperatures.getByText('91 °C').waitFor();
  await forget.scrollIntoViewIfNeeded();
  await lookAt(page, 'maintenance-machine-unwell');
  await page.getByText('chrony has no time server that answers.').waitFor({ timeout: 60_000 });
  // It is an alert after some seconds, which leads here, and ends when the link is forgotten.
  type Alerts = { items: { class: string; page: string }[] };
  const active = async () =>
    (await api.get<Alerts>('GET', '/api/alerts?state=active')).items.filter((one) => one.class === 'link.down');
  const [alert] = await until(
    'the alert',
    async () => {
      const found = await active();
      return found.length > 0 && found;
    },
    60,
  );
  assert.equal(alert?.page, '/maintenance/machine');
  await forget.click();
  await forget.waitFor({ state: 'detached' });
  assert.deepEqual(await active(), []);
  await stack.simulate('link', { name: 'eno1', carrier: true });
});

test('installed systems: another one is chosen to start next time, and it says so', async (t) => {
  await stack.simulate('system', {
    ...{ name: 'B', obstacle: '', version: '0.0.9', bytes: 180 * 2 ** 20, createdMs: Date.UTC(2026, 0, 1) },
  });
  const { page } = await someone.visit(t, '/sign-in?to=%2Fmaintenance%2Fsystem');
  await signInBy(page);
  const systems = page.getByRole('grid', { name: 'Installed systems' });
  const row = (name: string) =>
    systems.getByRole('row').filter({ has: page.getByRole('gridcell', { name, exact: true }) });
  await row('0.0.9').getByText('180 MiB').waitFor();
  await page.getByRole('button', { name: 'Start next time: the system B' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Nothing is restarted now.').waitFor();
  await lookAt(page, 'maintenance-system-choose');
  await dialog.getByRole('button', { name: 'Start it next time' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Start next time: the system A' }).waitFor();
  await lookAt(page, 'maintenance-system');
  // What it cannot start it says, and does not offer.
  await stack.simulate('system', { name: 'A', obstacle: 'Its kernel is missing from the boot partition.' });
  await page.reload();
  const refused = page.getByRole('button', { name: 'Start next time: the system A' });
  await refused.hover();
  await page.getByText('Its kernel is missing from the boot partition.').waitFor();
  assert.equal(await refused.getAttribute('aria-disabled'), 'true');
});

test('power: since when it runs; a reboot is planned, shown on every page, and cancelled; it is asked before it is done', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Fmaintenance%2Fpower');
  await signInBy(page);
  await page.getByText(/It has run for .*No start before this one is known\./).waitFor();
  await page.getByText(/from the journal/).waitFor();
  const form = page.getByRole('form', { name: 'Plan it' });
  await form.getByLabel(exactly('Why')).fill('New memory');
  await form.getByLabel(exactly('When')).fill('2020-01-01T03:00');
  expect(/status of 400/);
  await page.getByRole('button', { name: 'Plan it' }).click();
  await form.getByText(/not a minute ahead of the clock of the appliance/).waitFor();
  await lookAt(page, 'maintenance-power');
  const soon = new Date(Date.now() + 3 * 3_600_000);
  // The page of a test is in Berlin's time zone.
  const berlin = new Intl.DateTimeFormat('sv-SE', {
    timeZone: 'Europe/Berlin',
    dateStyle: 'short',
    timeStyle: 'short',
  });
  await form.getByLabel(exactly('When')).fill(berlin.format(soon).replace(' ', 'T'));
  await page.getByRole('button', { name: 'Plan it' }).click();
  const planned = page.getByRole('region', { name: 'Planned' });
  await planned.getByText(/This appliance is rebooted in (2|3) hours.*: New memory\. Planned by admin\./).waitFor();
  await lookAt(page, 'maintenance-power-planned');
  await page.getByRole('link', { name: 'Status', exact: true }).click();
  await page.getByRole('heading', { name: 'Status', level: 1 }).waitFor();
  await planned.getByRole('link', { name: 'Power' }).click();
  await page.getByRole('button', { name: 'Cancel it' }).click();
  await planned.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Switch off' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(/stays off until somebody switches it on/).waitFor();
  await lookAt(page, 'maintenance-power-off');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Reboot', exact: true }).click();
  await dialog.getByRole('button', { name: 'Reboot now' }).click();
  await page.getByText('It shuts down now. This page goes on when it is back.').waitFor();
  const api = await signIn(stack);
  const { items } = await api.get<{ items: { action: string; user: string }[] }>('GET', '/api/audit-log?limit=20');
  assert.deepEqual(
    items.filter(({ action }) => action.startsWith('power')).map(({ action, user }) => `${action} ${user}`),
    ['power.reboot admin', 'power-plan.cancel admin', 'power-plan.make admin'],
  );
});

test('the system is tuned, and all of it taken back', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Fmaintenance%2Ftuning');
  await signInBy(page);
  const form = page.getByRole('form', { name: 'Tuning' });
  await form.getByText(/The system by itself: 7 GiB\. From 64 MiB to 7\.5 GiB\./).waitFor();
  await form.getByLabel('Writes that a disk').fill('400');
  expect(/status of 400/);
  await form.getByRole('button', { name: 'Save' }).click();
  await form.getByText('It is 1 to 100.').waitFor();
  await lookAt(page, 'maintenance-tuning');
  await form.getByLabel('Writes that a disk').fill('4');
  await form.getByLabel('Most that ZFS keeps').fill('1,024');
  await form.getByRole('button', { name: 'Save' }).click();
  await form.getByText(/Now 1 GiB\. The system by itself: 7 GiB/).waitFor();
  await form.getByRole('button', { name: 'All as the system has it' }).click();
  await form.getByRole('button', { name: 'Save' }).click();
  await form.getByText(/Now 7 GiB/).waitFor();
});
