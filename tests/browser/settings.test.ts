// The settings as a file, which is applied with its plan shown before; and their history, from which a part is restored.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { setUp } from '../stack/api.ts';
import type { Stack } from '../stack/stack.ts';
import { exactly, lookAt, type Person, person, signInBy, withStack } from './browser.ts';

let stack: Stack;
let someone: Person;
before(async () => {
  stack = await withStack({ tracerd: { historySeconds: 0 } });
  await setUp(stack);
  someone = await person(stack);
});
after(async () => {
  await someone?.close();
  await stack?.stop();
});

test('a file is exported, changed and applied; a part is compared and restored', async (t) => {
  const { page } = await someone.visit(t, '/sign-in?to=%2Fsettings%2Fdocument');
  await signInBy(page);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Save the settings as a file' }).click(),
  ]);
  const document = JSON.parse(readFileSync(await download.path(), 'utf8'));
  assert.ok(Object.keys(document.parts).length > 20, Object.keys(document.parts).join(' '));

  const apply = page.getByRole('region', { name: 'Apply', exact: true });
  const choose = (content: unknown) =>
    apply.getByLabel('Settings file').setInputFiles({
      ...{ name: 'settings.json', mimeType: 'application/json' },
      buffer: Buffer.from(typeof content === 'string' ? content : JSON.stringify(content)),
    });
  await choose('no JSON');
  await apply.getByText('settings.json is no JSON file').waitFor();
  await choose(document);
  await apply.getByRole('button', { name: 'Show what would change' }).click();
  await apply.getByText('Nothing changes').waitFor();

  document.parts['audit-retention'].value.days = 60;
  document.parts.destinations.value['night-mail'] = {
    ...{ name: 'Night', kind: 'syslog', enabled: true },
    syslog: { host: 'logs.example', port: 514, transport: 'tcp', verifyCertificate: false },
  };
  document.parts.network = { version: 1, value: {} };
  await choose(document);
  await apply.getByRole('button', { name: 'Show what would change' }).click();
  await apply.getByText(/network is no part that this appliance knows/).waitFor();
  await lookAt(page, 'settings-document-refused');
  delete document.parts.network;
  await choose(document);
  await apply.getByRole('button', { name: 'Show what would change' }).click();
  const changes = apply.getByRole('grid', { name: 'Changes: How much of the audit log is kept' });
  await changes.getByText('730').waitFor();
  await changes.getByText('60', { exact: true }).waitFor();
  await lookAt(page, 'settings-document-plan');
  await apply.getByRole('button', { name: 'Apply this…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Apply' }).click();
  await apply.getByText('The settings were applied, and read back').waitFor();
  const kept = await (await page.request.get(`${stack.url}/api/audit-retention`)).json();
  assert.equal(kept.days, 60);

  await page.goto(`${stack.url}/settings/history`);
  const history = page.getByRole('grid', { name: 'History of the settings' });
  await history.getByText('by a document').first().waitFor();
  await history.getByRole('button', { name: 'Compare How much of the audit log is kept' }).click();
  const comparison = page.getByRole('region', { name: 'Comparison' });
  await comparison.getByRole('grid', { name: 'What differs' }).getByText('730').waitFor();
  await lookAt(page, 'settings-history');
  await comparison.getByRole('button', { name: 'Restore what was before…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('grid', { name: 'Changes: How much of the audit log is kept' }).waitFor();
  await dialog.getByRole('button', { name: 'Restore' }).click();
  await history.getByText('by a restore').waitFor();
  const restored = await (await page.request.get(`${stack.url}/api/audit-retention`)).json();
  assert.equal(restored.days, 730);
});

test('host name and time zone are changed; what is no name is said at its field', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Fsettings%2Fgeneral');
  await signInBy(page);
  const form = page.getByRole('form', { name: 'Name and time zone' });
  await form.getByLabel(exactly('Host name')).fill('metrics 1');
  expect(/status of 400/);
  await form.getByRole('button', { name: 'Save' }).click();
  await form.getByText('must be a host name').waitFor();
  await lookAt(page, 'settings-general');
  await form.getByLabel(exactly('Host name')).fill('metrics1');
  await form.getByLabel('Time zone').selectOption('Europe/Berlin');
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByText('It is called metrics1 from now on').waitFor();
  await page.getByRole('banner').getByText('metrics1').waitFor();
  const state = await page.request.get(`${stack.url}/api/setup`);
  const { hostName, timeZone } = (await state.json()) as { hostName: string; timeZone: string };
  assert.deepEqual([hostName, timeZone], ['metrics1', 'Europe/Berlin']);
});
