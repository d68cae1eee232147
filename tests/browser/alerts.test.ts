// A rule is written as a sentence; it fires; the page shows it, says where it was sent, and clears it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { signed } from '../../appliance-kit/tests/certificates.ts';
import { eventually } from '../../appliance-kit/tests/harness.ts';
import { type Letter, smtp } from '../../appliance-kit/tests/smtp.ts';
import { setUp, signIn } from '../stack/api.ts';
import type { Stack } from '../stack/stack.ts';
import { lookAt, type Person, person, signInBy, withStack } from './browser.ts';
import { htmlOf } from './mail.ts';

let stack: Stack;
let someone: Person;
let level = 5;
let sending: ReturnType<typeof setInterval>;
before(async () => {
  stack = await withStack();
  await setUp(stack);
  sending = setInterval(() => {
    void stack.import([{ name: 'boiler_pressure', labels: { site: 'north' }, value: level }]).catch(() => {});
  }, 500);
  someone = await person(stack);
});
after(async () => {
  clearInterval(sending);
  await someone?.close();
  await stack?.stop();
});

test('a threshold is made, raised, seen everywhere, and cleared', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Falerts%2Fthresholds');
  await signInBy(page);
  await page.getByRole('button', { name: 'New rule' }).click();

  expect(/status of 400/);
  await page.getByLabel('When').fill('boiler_pressure');
  await page.getByRole('textbox', { name: 'Limit', exact: true }).fill('lots');
  await page.getByRole('button', { name: 'Create the rule' }).click();
  await page.getByText('A number, as 1.5, 250 ms or 80 %').waitFor();
  await page.getByRole('textbox', { name: 'Limit', exact: true }).fill('8');
  await page.getByLabel('For how long', { exact: true }).selectOption('a moment');
  await page.getByLabel('Limit for the all-clear').fill('6');
  await page.getByLabel('Clear for how long').selectOption('a moment');
  await page.getByLabel('Severity').selectOption('critical');
  await page.getByLabel('Name of the rule').fill('Boiler');
  await page
    .getByText('When boiler_pressure goes above 8, raise a critical alert; clear it when it goes below 6.')
    .waitFor();
  await page.getByText('Right now it is within the limit.').waitFor();
  await page.getByRole('img', { name: 'The past hour of boiler_pressure' }).waitFor();
  await lookAt(page, 'alerts-threshold-filled');
  await page.getByRole('button', { name: 'Create the rule' }).click();
  await page.getByText('Within the limit: 1 series').waitFor({ timeout: 30_000 });

  level = 9.5;
  await page.getByRole('button', { name: '1 active alert, the worst is critical' }).click({ timeout: 30_000 });
  const alert = page
    .getByRole('list', { name: 'Active alerts' })
    .getByRole('listitem')
    .filter({ hasText: 'Boiler' })
    .first();
  await alert.getByText(/9\.5/).first().waitFor();
  await alert.getByRole('button', { name: /What it means/ }).click();
  await alert.getByText('What to do').waitFor();
  await alert.getByText('boiler_pressure{site="north"}').waitFor();
  await lookAt(page, 'alerts-active');
  await page.getByRole('link', { name: 'Status', exact: true }).click();
  await page
    .getByText(/Boiler.* is 9\.5/)
    .first()
    .waitFor();

  level = 5;
  await page.getByRole('button', { name: 'No active alerts' }).click({ timeout: 30_000 });
  await page.getByText('Nothing is wrong').waitFor();
  await page.getByRole('link', { name: 'Log', exact: true }).click();
  await page.getByText('cleared', { exact: true }).first().waitFor();

  await page.getByRole('link', { name: 'Threshold rules' }).click();
  await page.getByRole('button', { name: 'Remove the rule Boiler' }).click();
  await page.getByRole('dialog').getByRole('textbox').fill('Boil');
  await lookAt(page, 'alerts-remove');
  await page.getByRole('button', { name: 'Remove the rule', exact: true }).hover();
  await page.getByText('Type “Boiler” first.').waitFor();
  await page.getByRole('dialog').getByRole('textbox').fill('Boiler');
  await page.getByRole('button', { name: 'Remove the rule', exact: true }).click();
  await page.getByText('There is no rule yet').waitFor();
});

test('an alert is acknowledged with a note, silenced, and seen in the log; its class is muted in the catalogue', async (t) => {
  const { page } = await someone.visit(t, '/sign-in?to=%2Falerts%2Fcatalogue');
  await signInBy(page);
  await page.getByRole('textbox', { name: 'Search the catalogue' }).fill('pool.full');
  await page.getByText('1 alert class.').waitFor();
  await page.getByText('For instance: Pool “tank” is 85 % full').waitFor();
  await page.getByRole('button', { name: 'What it means and what to do' }).click();
  await page.getByText(/when it has lasted for/).waitFor();
  await page.getByRole('button', { name: 'Where it goes: pool.full' }).click();
  await page.getByRole('switch', { name: /Muted/ }).click({ force: true });
  await lookAt(page, 'alerts-catalogue-route');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Kept in the log, not sent').waitFor();
  await page.getByRole('textbox', { name: 'Search the catalogue' }).fill('');
  await lookAt(page, 'alerts-catalogue');

  const rule = { expression: 'boiler_pressure', direction: 'above', raise: 8, clear: 6, severity: 'warning' };
  const times = { raiseForSeconds: 0, clearForSeconds: 0, repostSeconds: 0, enabled: true, destinations: [] };
  const made = await page.request.post(`${stack.url}/api/thresholds`, {
    data: { name: 'Boiler', ...rule, ...times },
    headers: { origin: stack.url },
  });
  assert.equal(made.status(), 201);
  level = 9;
  await page.getByRole('navigation', { name: 'Alerts' }).getByRole('link', { name: 'Active' }).click();
  await page.getByRole('button', { name: 'Acknowledge: Boiler (site="north")' }).click({ timeout: 30_000 });
  await page.getByLabel('Note').fill('Somebody is at the valve');
  await lookAt(page, 'alerts-acknowledge');
  await page.getByRole('button', { name: 'Acknowledge', exact: true }).click();
  await page.getByText('Note: Somebody is at the valve').waitFor();
  await page.getByRole('link', { name: /^Boiler/ }).click();
  await page.getByText(/Acknowledged: Somebody is at the valve/).waitFor();
  await page.getByText('Every destination: the class has no routing of its own').waitFor();
  await lookAt(page, 'alerts-one');

  await page.getByRole('button', { name: /^Silence: Boiler/ }).click();
  assert.equal(await page.getByLabel('With the text').inputValue(), 'site=north');
  await page.getByLabel('What it is for').fill('Valve is rebuilt');
  await page.getByRole('button', { name: '4 hours' }).click();
  await page.getByText(/with “site=north”, until .*\. 1 alert is active now that it matches: Boiler/).waitFor();
  await lookAt(page, 'alerts-silence-new');
  await page.getByRole('button', { name: 'Begin the silence' }).click();
  await page.getByText('1 active alert is suppressed.').waitFor();
  await lookAt(page, 'alerts-silences');
  await page.getByRole('link', { name: /^Active/ }).click();
  await page.getByText('suppressed by Valve is rebuilt').waitFor();
  level = 5;
  await page.getByRole('button', { name: 'No active alerts' }).waitFor({ timeout: 30_000 });

  await page.getByRole('link', { name: 'Log', exact: true }).click();
  await page.getByRole('textbox', { name: 'Search the log' }).fill('north');
  await page.getByLabel('Class').selectOption('threshold.exceeded');
  await page.getByRole('list', { name: 'All alerts' }).getByText('is back within its limit').first().waitFor();
  await lookAt(page, 'alerts-log');
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'CSV' }).click(),
  ]);
  assert.equal(download.suggestedFilename(), 'alerts.csv');
  const text = readFileSync(await download.path(), 'utf8');
  assert.match(text, /threshold\.exceeded,warning,cleared,/);
  assert.match(text, /Somebody is at the valve/);
  await page.getByLabel('Severity').selectOption('info');
  await page.getByText('No alert matches').waitFor();

  await page.getByRole('link', { name: 'Silences' }).click();
  await page.getByRole('button', { name: 'End it now: Valve is rebuilt' }).click();
  await page.getByRole('button', { name: 'End the silence', exact: true }).click();
  await page.getByText('ended', { exact: true }).waitFor();
  const { id } = (await made.json()) as { id: string };
  await page.request.delete(`${stack.url}/api/thresholds/${id}`, { headers: { origin: stack.url } });
});

test('a rule by a ready form, with hours, missing data and an action; it is tried over the past, and a mistake is shown at its place', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Falerts%2Fthresholds%2Fnew');
  await signInBy(page);
  expect(/status of 400/);
  await page.getByLabel('When').fill('sum(boiler_pressure');
  await page.getByRole('textbox', { name: 'Limit', exact: true }).fill('4');
  await page.getByText(/at column \d+/).waitFor();
  await lookAt(page, 'alerts-threshold-error');
  await page.getByLabel('When').fill('boiler_pressure');
  await page.getByText('It is beyond the limit now: the rule would raise at once.').waitFor();
  await page.getByLabel('For how long', { exact: true }).selectOption('a moment');
  await page.getByText(/It would have fired [1-9]/).waitFor();
  await page.getByRole('list', { name: 'When it would have fired' }).getByText('site=north').first().waitFor();

  await page.getByLabel('Watch').selectOption('change');
  await page.getByLabel('Metric').fill('boiler_pressure');
  await page.getByLabel('Within').selectOption('5 minutes');
  await page.getByText('delta(boiler_pressure[5m])').waitFor();
  await page.getByLabel('Missing data').selectOption({ label: 'none for 5 minutes: raise an alert' });
  await page.getByLabel('At any time').uncheck();
  await page.getByLabel('Sat').check();
  await page.getByRole('button', { name: 'Add an action' }).click();
  await page.getByLabel('Action 1: what').selectOption({ label: 'make a support bundle' });
  await page.getByText('When the change of boiler_pressure within 5 minutes', { exact: false }).first().waitFor();
  await lookAt(page, 'alerts-threshold-form');
  await page.getByLabel('Name of the rule').fill('Surge');
  await page.getByRole('button', { name: 'Create the rule' }).click();
  await page.getByRole('link', { name: 'Surge' }).click();
  assert.equal(await page.getByLabel('Metric').inputValue(), 'boiler_pressure');
  assert.equal(await page.getByLabel('Watch').inputValue(), 'change');
  assert.ok(await page.getByLabel('Sat').isChecked());
  const { items } = await (await page.request.get(`${stack.url}/api/thresholds`)).json();
  const surge = items.find((one: { name: string }) => one.name === 'Surge');
  assert.deepEqual(
    [surge.expression, surge.noDataSeconds, surge.hours.days, surge.hours.timeZone, surge.actions[0].kind],
    ['delta(boiler_pressure[5m])', 300, [1, 2, 3, 4, 5, 6], 'Europe/Berlin', 'bundle'],
  );
  await page.request.delete(`${stack.url}/api/thresholds/${surge.id}`, { headers: { origin: stack.url } });
});

test('a rule with a band in which the value is expected: both ends are typed, drawn, and kept', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Falerts%2Fthresholds%2Fnew');
  await signInBy(page);
  expect(/status of 400/);
  await page.getByLabel('When').fill('boiler_pressure');
  await page.getByLabel('Above, below or outside').selectOption('outside');
  await page.getByRole('textbox', { name: 'Lower limit', exact: true }).fill('9');
  await page.getByRole('textbox', { name: 'Upper limit', exact: true }).fill('8');
  await page.getByLabel('Name of the rule').fill('Pressure');
  await page.getByRole('button', { name: 'Create the rule' }).click();
  await page.getByText('must be below the upper limit: nothing is between').waitFor();
  await page.getByRole('textbox', { name: 'Lower limit', exact: true }).fill('2');
  await page.getByRole('textbox', { name: 'Lower limit for the all-clear' }).fill('3');
  await page
    .getByText(/stays outside 2 to 8 for 1 minute, raise a warning; clear it when it stays between 3 and 8/)
    .waitFor();
  await page.getByText('2 to 8', { exact: true }).waitFor();
  await lookAt(page, 'alerts-threshold-band');
  await page.getByRole('button', { name: 'Create the rule' }).click();
  await page.getByRole('link', { name: 'Pressure' }).click();
  assert.equal(await page.getByRole('textbox', { name: 'Lower limit', exact: true }).inputValue(), '2');
  const { items } = await (await page.request.get(`${stack.url}/api/thresholds`)).json();
  const made = items.find((one: { name: string }) => one.name === 'Pressure');
  assert.deepEqual([made.direction, made.raiseBelow, made.clearBelow, made.raise, made.clear], ['outside', 2, 3, 8, 8]);
  await page.request.delete(`${stack.url}/api/thresholds/${made.id}`, { headers: { origin: stack.url } });
});

test('two edit one rule at once: the second learns what changed, loads it, and loses nothing of what was typed', async (t) => {
  const api = await signIn(stack);
  const made = await api.get<{ id: string }>('POST', '/api/thresholds', {
    ...{ name: 'Shared', expression: 'boiler_pressure', direction: 'above', raise: 80, clear: 60, severity: 'info' },
    ...{ raiseForSeconds: 0, clearForSeconds: 0, repostSeconds: 0, enabled: false, destinations: [] },
    ...{ noDataSeconds: 0, actions: [] },
  });
  const path = `/alerts/thresholds/${made.id}`;
  const { page: first } = await someone.visit(t, `/sign-in?to=${encodeURIComponent(path)}`);
  const { page: second, expect } = await someone.visit(t, `/sign-in?to=${encodeURIComponent(path)}`);
  for (const page of [first, second]) {
    await signInBy(page);
    await page.getByLabel('Name of the rule').waitFor();
  }
  await second.getByRole('textbox', { name: 'Limit', exact: true }).fill('90');
  await first.getByLabel('Name of the rule').fill('Shared by both');
  await first.getByRole('button', { name: 'Save the rule' }).click();
  await first.getByRole('button', { name: 'New rule' }).waitFor();

  expect(/status of 412/);
  await second.getByRole('button', { name: 'Save the rule' }).click();
  const refusal = second.getByRole('alert').filter({ hasText: 'Somebody else has changed it' });
  await refusal.getByText(/^“name” was changed after it was loaded.* by admin at /).waitFor();
  await refusal.getByText('Reload, compare, save again.').waitFor();
  await lookAt(second, 'alerts-edit-conflict');
  await refusal.getByRole('button', { name: 'Load the current values' }).click();
  await second.getByText('The current values were loaded').waitFor();
  assert.equal(await second.getByLabel('Name of the rule').inputValue(), 'Shared by both');
  assert.equal(await second.getByRole('textbox', { name: 'Limit', exact: true }).inputValue(), '90');
  await second.getByRole('button', { name: 'Save the rule' }).click();
  await second.getByRole('button', { name: 'New rule' }).waitFor();
  const { name, raise } = await api.get<{ name: string; raise: number }>('GET', `/api/thresholds/${made.id}`);
  assert.deepEqual([name, raise], ['Shared by both', 90]);
  await api.get('DELETE', `/api/thresholds/${made.id}`);
});

test('the page of an alert is the investigation: chart with limit, what changed, marks, log, other alerts', async (t) => {
  const labels = { site: 'west' };
  const now = Math.floor(Date.now() / 1000);
  const past = (name: string, value: (before: number, at: number) => number, of: object = labels) =>
    Array.from({ length: 112 }, (_, at) => ({ name, labels: of, time: now - 15 * at, value: value(15 * at, at) }));
  const wave = (_: number, at: number) => 20 + Math.sin(at * 1.7);
  const jump = (before: number, at: number) => wave(before, at) + (before < 120 ? 40 : 0);
  await stack.import([
    ...past('tank_level', (before) => (before < 60 ? 9 : 5)),
    ...past('valve_flow', jump),
    ...past('pump_speed', wave),
    ...past('elsewhere', (before, at) => 10 * jump(before, at), { site: 'east' }),
  ]);
  stack.note('storaged', 'level=WARN msg="the valve is stuck"');
  const { page } = await someone.visit(t, '/sign-in?to=%2Falerts%2Flog');
  await signInBy(page);
  const rules: string[] = [];
  for (const [name, expression, raise] of [
    ['Flow', 'valve_flow', 40],
    ['Tank', 'tank_level', 8],
  ] as const) {
    const rule = { name, expression, direction: 'above', raise, clear: raise - 1, severity: 'warning' };
    const times = { raiseForSeconds: 0, clearForSeconds: 0, repostSeconds: 0, enabled: true, destinations: [] };
    const made = await page.request.post(`${stack.url}/api/thresholds`, {
      data: { ...rule, ...times },
      headers: { origin: stack.url },
    });
    rules.push(((await made.json()) as { id: string }).id);
    await page.getByRole('link', { name: `${name} (site="west")` }).waitFor({ timeout: 30_000 });
  }
  await page.getByRole('link', { name: 'Tank (site="west")' }).click();
  const chart = page.getByRole('region', { name: 'Chart of Tank' });
  await chart.getByRole('img', { name: 'Tank: 1 series' }).waitFor();
  await chart.getByText('Limit').waitFor();
  const changed = page.getByRole('list', { name: 'Series that changed most' });
  await changed.getByRole('listitem').first().getByText('valve_flow{site="west"}').first().waitFor({ timeout: 30_000 });
  await changed
    .getByText(/also of site west/)
    .first()
    .waitFor();
  await changed.getByText('elsewhere{site="east"}').first().waitFor();
  await page.getByRole('list', { name: 'Marks' }).getByText('threshold create: Tank').waitFor();
  await page
    .getByRole('list', { name: 'Lines of the log' })
    .getByText(/the valve is stuck/)
    .first()
    .waitFor();
  await page.getByRole('list', { name: 'Other alerts' }).getByRole('link', { name: /^Flow/ }).waitFor();
  await lookAt(page, 'alerts-findings');

  for (const id of rules)
    await page.request.delete(`${stack.url}/api/thresholds/${id}`, { headers: { origin: stack.url } });
});

test('a rule over a histogram has its heatmap with the limit; when the store is gone the page says so and has the rest', async (t) => {
  const now = Math.floor(Date.now() / 1000);
  const measured = (bins: object, time: number) => ({
    name: 'login_seconds',
    labels: { site: 'west' },
    time,
    histogram: { bins },
  });
  await stack.import(
    Array.from({ length: 112 }, (_, at) =>
      measured(at < 6 ? { '0.9': 20 } : { '0.012': 15, '0.014': 5 }, now - 15 * at),
    ),
  );
  const api = await signIn(stack);
  const form = { kind: 'over-limit', metric: 'login_seconds', slowerThan: 0.5, overSeconds: 300, by: ['site'] };
  const made = await api.get<{ id: string }>('POST', '/api/thresholds', {
    ...{ name: 'Slow logins', expression: '-', form, direction: 'above', raise: 10, clear: 5, severity: 'warning' },
    ...{ raiseForSeconds: 0, clearForSeconds: 0, repostSeconds: 0, enabled: true, destinations: [] },
  });
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Falerts%2Flog');
  await signInBy(page);
  await page.getByRole('link', { name: 'Slow logins (site="west")' }).click({ timeout: 30_000 });
  await page.getByRole('img', { name: /^Heatmap of Slow logins: [\d,]+ events/ }).waitFor({ timeout: 30_000 });
  await page
    .getByText('Nothing else left its usual range.')
    .or(page.getByRole('list', { name: 'Series that changed most' }))
    .waitFor({ timeout: 30_000 });
  await lookAt(page, 'alerts-findings-heatmap');

  expect(/status of 50[234]/);
  await stack.stopPart('storaged');
  await page.reload();
  await page.getByRole('heading', { name: 'What the log says' }).waitFor();
  await page.getByText('What to do').waitFor();
  await page.getByRole('region', { name: 'Chart of Slow logins' }).getByRole('alert').waitFor({ timeout: 30_000 });
  await lookAt(page, 'alerts-findings-no-store');
  await stack.startPart('storaged');
  await api.get('DELETE', `/api/thresholds/${made.id}`);
});

test('an SNMP destination is added, changed without its secret being asked again, and removed', async (t) => {
  const { page } = await someone.visit(t, '/sign-in?to=%2Falerts%2Fdestinations');
  await signInBy(page);
  await page.getByRole('button', { name: 'Add a destination' }).click();
  await page.getByRole('radio', { name: 'SNMP trap' }).check();
  await page.getByLabel('Receiver').fill('127.0.0.1');
  await page.getByLabel('Community').fill('secret');
  await page.getByRole('button', { name: 'Add the destination' }).click();
  await page.getByRole('link', { name: 'SNMP traps to 127.0.0.1' }).click();
  await page.getByText('One is stored; leave this empty to keep it.').waitFor();
  await lookAt(page, 'alerts-destination-snmp');
  await page.getByLabel('Name').fill('Network desk');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: 'Remove the destination Network desk' }).click();
  await page.getByRole('dialog').getByRole('textbox').fill('Network desk');
  await page.getByRole('button', { name: 'Remove the destination', exact: true }).click();
  await page.getByText('Alerts go nowhere yet').waitFor();
});

test('a webhook is tried before it is kept, and its address is not shown again; a syslog server that is not there says so', async (t) => {
  const got: { body: string; signature: string }[] = [];
  const server = http.createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      got.push({ body, signature: String(request.headers['x-cistern-signature']) });
      response.end('taken');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Falerts%2Fdestinations%2Fnew');
  await signInBy(page);
  await page.getByRole('radio', { name: 'Webhook' }).check();
  await page.getByLabel('Address').fill(`http://127.0.0.1:${port}/in/s3cret`);
  await page.getByLabel('Secret').fill('between us');
  await page.getByRole('button', { name: 'Send a test' }).click();
  await page.getByText('The test message was accepted.').waitFor();
  await page.getByText(/< taken/).waitFor();
  assert.match(got[0]?.signature ?? '', /^sha256=[0-9a-f]{64}$/);
  await lookAt(page, 'alerts-destination-webhook');
  await page.getByRole('button', { name: 'Add the destination' }).click();
  await page.getByText(`Webhook (JSON) at 127.0.0.1:${port}`).waitFor();
  await page.getByRole('link', { name: /^Webhook at 127/ }).click();
  await page.getByText(`One at 127.0.0.1:${port} is stored`, { exact: false }).waitFor();
  assert.ok(!(await page.content()).includes('s3cret'));

  await page.goto(`${stack.url}/alerts/destinations/new`);
  await page.getByRole('radio', { name: 'Syslog' }).check();
  expect(/status of 400/);
  await page.getByLabel('Syslog server').fill('127.0.0.1');
  await page.getByLabel('Certificate authority').fill('our own');
  await page.getByRole('button', { name: 'Send a test' }).click();
  const authority = page.getByLabel('Certificate authority');
  const below = page.locator(`[id="${await authority.getAttribute('aria-describedby')}"]`);
  await below.getByText('holds no certificate').waitFor();
  const { ca } = signed(['IP:127.0.0.1']);
  await authority.fill(ca);
  await below.getByText('Only for a server whose certificate').waitFor(); // the complaint was about what stood there
  await page.getByLabel('Port').fill('1');
  await page.getByRole('button', { name: 'Send a test' }).click();
  await page
    .getByText(/127\.0\.0\.1:1 did not take the message/)
    .first()
    .waitFor();
  await lookAt(page, 'alerts-destination-syslog');
  await page.getByRole('button', { name: 'Add the destination' }).click();
  await page.getByRole('link', { name: 'Syslog to 127.0.0.1' }).click();
  await page.getByText(/O=Example, CN=Example CA, until 20\d\d-/).waitFor();
  await lookAt(page, 'alerts-destination-authority');
});

test('the mail of an alert and of its end, as its reader sees them, with the picture of the last hour', async (t) => {
  const mail = await smtp(t);
  const { page } = await someone.visit(t, '/sign-in?to=%2Falerts%2Fdestinations');
  await signInBy(page);
  const send = async (method: 'post' | 'delete', path: string, data: object = {}) => {
    const reply = await page.request[method](stack.url + path, { data, headers: { origin: stack.url } });
    assert.ok(reply.ok(), await reply.text());
    return method === 'post' ? ((await reply.json()) as { id: string }) : { id: '' };
  };
  const now = Math.floor(Date.now() / 1000);
  const coolant = (time: number, value: number) => ({
    name: 'coolant_celsius',
    labels: { loop: 'primary' },
    time,
    value,
  });
  await stack.import(
    Array.from({ length: 110 }, (_, n) =>
      coolant(now - 3300 + n * 30, 61 + 4 * Math.sin(n / 9) + (n > 95 ? n - 95 : 0)),
    ),
  );
  const email = { host: '127.0.0.1', port: mail.port, security: 'none', verifyCertificate: true };
  const { id: destination } = await send('post', '/api/destinations', {
    ...{ name: 'Reader', kind: 'email', enabled: true },
    email: { ...email, from: 'cistern@example.com', to: ['oncall@example.com'] },
  });
  const { id: rule } = await send('post', '/api/thresholds', {
    ...{ name: 'Coolant is hot', expression: 'coolant_celsius', direction: 'above', raise: 80, clear: 75 },
    ...{ raiseForSeconds: 0, clearForSeconds: 0, repostSeconds: 0, severity: 'critical', enabled: true },
    destinations: [destination],
  });
  for (const [value, event] of [
    [93.5, 'raised'],
    [64, 'cleared'],
  ] as const) {
    await stack.import([coolant(Math.floor(Date.now() / 1000), value)]);
    const count = event === 'raised' ? 1 : 2;
    await eventually(() => assert.equal(mail.letters.length, count), 20_000);
    // Our own pages allow no style in an attribute; a mail program does.
    await page.goto('about:blank');
    await page.setContent(htmlOf(mail.letters.at(-1) as Letter));
    const picture = page.getByRole('img', { name: 'Chart of the last hour' });
    await picture.waitFor();
    assert.ok(await picture.evaluate((image: HTMLImageElement) => image.complete && image.naturalWidth > 500));
    await page
      .getByText(event === 'raised' ? /is 93\.5 °C, above the limit of 80 °C/ : /is back within its limit/)
      .first()
      .waitFor();
    await page.getByRole('link', { name: /^Open this alert on/ }).waitFor();
    await lookAt(page, `mail-${event}`);
  }
  await send('delete', `/api/thresholds/${rule}`);
  await send('delete', `/api/destinations/${destination}`);
});

test('a message that its receiver refuses: what waits behind it shows why, and in the end it is dropped, with an alert', async (t) => {
  const taken: string[] = [];
  const server = http.createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      const { title } = JSON.parse(body).alert;
      const refused = title.startsWith('Kettle');
      if (!refused) taken.push(title);
      response.writeHead(refused ? 422 : 204, refused ? 'Unprocessable Content' : 'No Content').end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const { page } = await someone.visit(t, '/sign-in?to=%2Falerts%2Flog');
  await signInBy(page);
  const send = async (path: string, data: object) => {
    const reply = await page.request.post(stack.url + path, { data, headers: { origin: stack.url } });
    assert.ok(reply.ok(), await reply.text());
    return ((await reply.json()) as { id: string }).id;
  };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/alerts`;
  const destination = await send('/api/destinations', {
    ...{ name: 'Ticket desk', kind: 'webhook', enabled: true },
    webhook: { url, preset: 'json', verifyCertificate: true },
  });
  const rules: string[] = [];
  for (const name of ['Kettle', 'Stove']) {
    const rule = { name, expression: name.toLowerCase(), direction: 'above', raise: 10, clear: 5, severity: 'warning' };
    const times = { raiseForSeconds: 0, clearForSeconds: 0, repostSeconds: 0, enabled: true };
    rules.push(await send('/api/thresholds', { ...rule, ...times, destinations: [destination] }));
    await stack.import([{ name: name.toLowerCase(), labels: {}, value: 11 }]);
    await page
      .getByRole('list', { name: 'All alerts' })
      .getByText(`${name} is 11`)
      .first()
      .waitFor({ timeout: 20_000 });
  }
  await page.getByRole('link', { name: 'Stove', exact: true }).click();
  await page.getByText(/It waits behind an earlier one: 127.*422 Unprocessable Content/).waitFor({ timeout: 20_000 });
  await lookAt(page, 'alerts-waits-behind');
  await page.getByText(/: sent to Ticket desk/).waitFor({ timeout: 30_000 });
  await page.goto(`${stack.url}/alerts/log`);
  await page.getByRole('link', { name: '“Ticket desk” refused a message' }).click({ timeout: 20_000 });
  await page
    .getByText(/did not accept “Kettle”.*422 Unprocessable Content/)
    .first()
    .waitFor();
  await lookAt(page, 'alerts-refused');
  await page.goto(`${stack.url}/alerts/log`);
  await page.getByRole('link', { name: 'Kettle', exact: true }).click();
  await page
    .getByText(/could not be sent to Ticket desk/)
    .first()
    .waitFor();
  await lookAt(page, 'alerts-given-up');
  assert.deepEqual(taken, ['Stove', '“Ticket desk” refused a message']);
  for (const path of [...rules.map((id) => `/api/thresholds/${id}`), `/api/destinations/${destination}`])
    await page.request.delete(stack.url + path, { headers: { origin: stack.url } });
});
