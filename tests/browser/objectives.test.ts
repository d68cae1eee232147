// An objective: its sentence is told of the past while it is typed, its limit is dragged, it is kept, looked at by another one, and removed.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Person as ApiPerson, setUp } from '../stack/api.ts';
import { until } from '../stack/http.ts';
import type { Stack } from '../stack/stack.ts';
import { exactly, lookAt, type Person, person, signInBy, withStack } from './browser.ts';

let stack: Stack;
let someone: Person;
let api: ApiPerson;
const HOUR = 3600;
const HOURS = 54 * 24;

/** A quick service, of whose 1,000 requests an hour 10 are slow, and 40 on every seventh day. */
function requests() {
  const now = Math.floor(Date.now() / 1000);
  return Array.from({ length: HOURS }, (_, hour) => {
    const slow = Math.floor(hour / 24) % 7 === 3 ? 40 : 10;
    const bins = { '0.042': 600, '0.087': 400 - slow, '0.31': slow - 5, '1.2': 5 };
    return {
      name: 'checkout_seconds',
      labels: { site: 'north' },
      time: now - 60 - (HOURS - 1 - hour) * HOUR,
      histogram: { bins },
    };
  });
}

/** Every five minutes of the last two days. */
function customers() {
  const now = Math.floor(Date.now() / 1000);
  return Array.from({ length: 576 }, (_, at) => ({
    name: 'customers',
    labels: {},
    time: now - at * 300,
    value: 2_000 + at,
  }));
}

before(async () => {
  stack = await withStack();
  api = await setUp(stack);
  await stack.import([...requests(), ...customers()]);
  someone = await person(stack);
});
after(async () => {
  await someone?.close();
  await stack?.stop();
});

const to = (path: string) => `/sign-in?to=${encodeURIComponent(path)}`;

test('an objective is made of a sentence that is told while it is typed, and its limit is moved', async (t) => {
  const { page, expect } = await someone.visit(t, to('/analytics/objectives'));
  // What is typed is asked before it is complete.
  expect(/status of 400/);
  await signInBy(page);
  await page.getByRole('heading', { name: 'There is no objective yet' }).waitFor();
  await page.getByRole('button', { name: 'New objective' }).click();
  await page.getByText('How the past reads by it is shown here.').waitFor();
  await page.getByRole('button', { name: 'Create the objective' }).click();
  await page.getByText('Enter a selector of histograms').waitFor();
  await page.getByLabel('What is measured').fill('rate(checkout_seconds[5m])');
  await page.getByLabel('Under the limit').fill('300 ms');
  await page.getByText(/^The selector cannot be understood/).waitFor();
  await page.getByLabel('What is measured').fill('checkout_seconds{site="north"}');
  const aside = page.getByRole('complementary', { name: 'The past by these fields' });
  await aside
    .getByText(/^\s*99 % under 300 ms in 28 days: 98\.\d+ %; [\d,]+ of [\d,]+ too slow, [\d,]+ over budget\.$/)
    .waitFor();
  await aside.getByRole('img', { name: /^Heatmap of checkout_seconds.*: [\d,]+ events$/ }).waitFor();
  await page.getByRole('button', { name: 'Create the objective' }).click();
  await page.getByText('Enter a name: alerts are called by it.').waitFor();
  await page.getByLabel(exactly('Name')).fill('Checkout is quick');
  await page.getByLabel('Told of 1,000 of').fill('sum(customers)');
  await aside.getByText('Beyond the limit, of 1,000 of sum(customers): this period / the one before').waitFor();
  await aside.getByText(/^4,\d{3} \/ –$/).waitFor();
  await aside.getByText('Population, right').waitFor();
  await lookAt(page, 'objective-new');

  // By the keys: the line goes up bin by bin, and the sentence with it.
  const line = aside.getByRole('slider', { name: 'Limit' });
  await line.focus();
  await until('the limit is beyond 310 ms', async () => {
    await page.keyboard.press('ArrowUp');
    return Number(await line.getAttribute('aria-valuenow')) > 0.32;
  });
  await aside
    .getByText(
      /^\s*99 % under [\d.]+ (ms|s) in 28 days: 99\.\d+ %; [\d,]+ of [\d,]+ too slow, [\d,]+ left of the budget\.$/,
    )
    .waitFor();
  await aside.getByText('counted exactly').waitFor({ state: 'hidden' });
  await page.getByLabel('Under the limit').fill('300 ms');
  await aside.getByRole('button', { name: 'Day' }).click();
  await aside.getByRole('img', { name: 'How many were beyond the limit, counted by day' }).waitFor();
  await page.getByRole('button', { name: 'Create the objective' }).click();

  const row = page.getByRole('row').filter({ hasText: 'Checkout is quick' });
  await row.getByText(/^\s*99 % under 300 ms in 28 days: 98\./).waitFor();
  await page.getByText('1 objective, 1 over budget.').waitFor();
  await lookAt(page, 'objectives');
  await page.getByRole('link', { name: 'Checkout is quick' }).click();
  await page.getByRole('heading', { name: 'Checkout is quick' }).waitFor();
  assert.equal(await page.getByLabel('Under the limit').inputValue(), '300 ms');
  await lookAt(page, 'objective');
  await aside.getByRole('link', { name: 'Look closer, and ask Why these?' }).click();
  await page.getByRole('img', { name: /^Heatmap of checkout_seconds/ }).waitFor();
});

test('a limit that is moved to look changes nothing; an objective is removed by its name', async (t) => {
  const { items } = await api.get<{ items: { id: string; limit: number; etag: string }[] }>('GET', '/api/objectives');
  const id = items[0]?.id ?? '';
  const { page } = await someone.visit(t, to(`/analytics/objectives/${id}`));
  await signInBy(page);
  await page.getByRole('heading', { name: 'Checkout is quick' }).waitFor();
  await page.getByLabel('Under the limit').fill('2 s');
  await page.getByText(/^\s*99 % under 2 s in 28 days: 100 %; 0 of /).waitFor();
  const now = await api.get<{ items: { limit: number }[] }>('GET', '/api/objectives');
  assert.equal(now.items[0]?.limit, 0.3);

  await page.getByRole('link', { name: 'Objectives' }).first().click();
  await page.getByRole('button', { name: 'Remove the objective Checkout is quick' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(/Nothing that was measured is removed/).waitFor();
  await dialog.getByRole('textbox').fill('Checkout is quick');
  await dialog.getByRole('button', { name: 'Remove the objective' }).click();
  await page.getByRole('heading', { name: 'There is no objective yet' }).waitFor();
});
