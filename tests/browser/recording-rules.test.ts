// Recording rules: made with a preview, recorded, wrong, imported, and filled in for the past, by a real store.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Person as ApiPerson, setUp } from '../stack/api.ts';
import { until } from '../stack/http.ts';
import type { Stack } from '../stack/stack.ts';
import { exactly, type Person, person, signInBy, withStack } from './browser.ts';
import { latencies } from './load.ts';

let stack: Stack;
let someone: Person;
let api: ApiPerson;
before(async () => {
  stack = await withStack();
  api = await setUp(stack);
  await stack.import(latencies('shop_checkout_seconds', 120));
  someone = await person(stack);
});
after(async () => {
  await someone?.close();
  await stack?.stop();
});

const to = (path: string) => `/sign-in?to=${encodeURIComponent(path)}`;
const value = async (query: string) =>
  (
    await api.get<{ data: { result: { value: [number, string] }[] } }>(
      'GET',
      `/api/v1/query?query=${encodeURIComponent(query)}`,
    )
  ).data.result[0]?.value[1];

test('a rule is made, recorded, broken and corrected, and its past is filled', async (t) => {
  const { page, expect } = await someone.visit(t, to('/analytics/recording-rules'));
  // The preview of what needs too much.
  expect(/status of 422/);
  await signInBy(page);
  await page.getByRole('heading', { name: 'There is no recording rule yet' }).waitFor();
  await page.getByRole('button', { name: 'New recording rule' }).click();
  await page.getByLabel(exactly('Expression')).fill('sum(');
  await page.getByText('parse error: unclosed left parenthesis, at column 5').waitFor();
  await page.getByLabel(exactly('Expression')).fill('sum by (mode) (cistern_host_cpu_ratio)');
  await page.getByText(/^It would record [4-9] series now\.$/).waitFor();
  await page.getByRole('img', { name: /^The past hour of sum by/ }).waitFor();
  await page.getByRole('button', { name: 'Create the rule' }).click();
  await page.getByText('Enter the name of the metric, as job:requests:rate5m.').waitFor();
  await page.getByLabel(exactly('Name of the result')).fill('cistern_cpu');
  await page.getByText(/^The name names that begin with cistern_|names that begin with cistern_ are/).waitFor();
  await page.getByLabel(exactly('Name of the result')).fill('mode:cpu:ratio');
  await page.getByLabel(exactly('Added labels')).fill('site=north');
  await page.getByLabel(exactly('Every')).selectOption('1');
  await page.getByRole('button', { name: 'Create the rule' }).click();
  const row = page.getByRole('row').filter({ hasText: 'mode:cpu:ratio' });
  await row.getByText(/[4-9] values in /).waitFor();
  await until('it is recorded', async () => (await value('count(mode:cpu:ratio{site="north"})')) !== undefined);

  // Too much: the page names the limit, and goes on.
  await page.getByRole('link', { name: 'mode:cpu:ratio', exact: true }).click();
  await page.getByLabel(exactly('Expression')).fill('max_over_time(cistern_host_cpu_ratio[1y:1ms])');
  await page.getByRole('button', { name: 'Save the rule' }).click();
  await row.getByText(/limits\.query_points/).waitFor();
  await page.getByText('1 recording rule, of which 1 fails.').waitFor();
  const { groups } = (
    await api.get<{ data: { groups: { rules: { health: string; lastError: string }[] }[] } }>(
      'GET',
      '/api/v1/rules?type=record',
    )
  ).data;
  assert.equal(groups[0]?.rules[0]?.health, 'err');
  await page.getByRole('link', { name: 'mode:cpu:ratio', exact: true }).click();
  await page.getByLabel(exactly('Expression')).fill('sum by (mode) (cistern_host_cpu_ratio)');
  await page.getByRole('button', { name: 'Save the rule' }).click();
  await row.getByText(/[4-9] values in /).waitFor();

  await row.getByRole('button', { name: 'Fill the past of mode:cpu:ratio' }).click();
  // As the reader's clock shows it.
  const from = new Date(Date.now() - 600_000).toLocaleString('sv-SE', { timeZone: 'Europe/Berlin' });
  await page.getByLabel(exactly('From')).fill(from.slice(0, 16).replace(' ', 'T'));
  await page.getByRole('dialog').getByRole('button', { name: 'Fill the past' }).click();
  await row.getByText(/^The past was filled: /).waitFor({ timeout: 120_000 });

  await row.getByRole('button', { name: 'Remove the rule mode:cpu:ratio' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(/What was recorded stays/).waitFor();
  await dialog.getByRole('textbox').fill('mode:cpu:ratio');
  await dialog.getByRole('button', { name: 'Remove the rule' }).click();
  await page.getByRole('heading', { name: 'There is no recording rule yet' }).waitFor();
  assert.notEqual(await value('count(last_over_time(mode:cpu:ratio[5m]))'), undefined);
});

test('a rule file is imported; what is not taken is named; a result may be histograms', async (t) => {
  const { page } = await someone.visit(t, to('/analytics/recording-rules'));
  await signInBy(page);
  await page.getByRole('button', { name: 'Import a rule file' }).click();
  const file = `groups:
- name: shop
  interval: 10s
  rules:
  - record: shop:checkout
    expr: sum(increase(shop_checkout_seconds[5m]))
  - alert: Slow
    expr: shop:checkout > 1
`;
  await page
    .getByLabel('Rule file', { exact: true })
    .setInputFiles({ name: 'shop.yml', mimeType: 'application/yaml', buffer: Buffer.from(file) });
  await page.getByRole('button', { name: 'Import', exact: true }).click();
  await page.getByText('1 rule added').waitFor();
  await page.getByText(/^Line 7: the alert rule Slow: alert rules are thresholds here/).waitFor();
  await page.getByRole('button', { name: 'Close', exact: true }).last().click();
  const row = page.getByRole('row').filter({ hasText: 'shop:checkout' });
  await row.getByText(/1 histogram in /).waitFor({ timeout: 60_000 });
  await until('it is a histogram', async () => Number(await value('histogram_quantile(0.5, shop:checkout)')) > 0);
});
