// What is sent without a unit gets one: by the type of a timer, by its sender, by a person; and alerts say it.
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { after, before, test } from 'node:test';
import { setUp, signIn } from '../stack/api.ts';
import { until } from '../stack/http.ts';
import type { Stack } from '../stack/stack.ts';
import { lookAt, type Person, person, signInBy, withStack } from './browser.ts';

let stack: Stack;
let someone: Person;
let sending: ReturnType<typeof setInterval>;
const socket = createSocket('udp4');
before(async () => {
  stack = await withStack();
  await setUp(stack);
  sending = setInterval(() => {
    socket.send('checkout:317|ms\nwait:900|g', stack.statsdPort, '127.0.0.1');
  }, 200);
  someone = await person(stack);
});
after(async () => {
  clearInterval(sending);
  socket.close();
  await someone?.close();
  await stack?.stop();
});

test('a timer is in milliseconds, whatever it is called', async (t) => {
  const { page } = await someone.visit(t, '/sign-in?to=%2Fanalytics%2Fexplore%3Fmetric%3Dcheckout');
  await signInBy(page);
  await page.getByText('Measured in seconds, as its sender says.').waitFor({ timeout: 30_000 });
  await page.getByLabel('Limit').fill('250 ms');
  await page.getByLabel('Limit').press('Enter');
  await page.getByText(/slower than 250 ms \(100 %\)/).waitFor();
  assert.match(page.url(), /limit=0\.25/);
  await lookAt(page, 'units-timer');
});

test('a person says what a gauge is measured in; its charts, its limit and an alert of it say so', async (t) => {
  const { page } = await someone.visit(t, '/sign-in?to=%2Fanalytics%2Fexplore%3Fmetric%3Dwait');
  await signInBy(page);
  await page.getByText('Nobody says what it is measured in.').waitFor({ timeout: 30_000 });
  await page.getByRole('button', { name: 'Unit, description, limit line' }).click();
  const form = page.getByRole('dialog');
  await form.getByLabel('Unit').fill('ms');
  await form.getByLabel('Description').fill('From the order to the answer of the bank.');
  await form.getByLabel('Limit line').fill('much');
  await form.getByText('A number, as 1.5, 250 ms or 80 %').waitFor();
  await lookAt(page, 'units-form');
  await form.getByLabel('Limit line').fill('0.25 s');
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Measured in milliseconds, as somebody said here.').waitFor();
  await page.getByText('From the order to the answer of the bank.').waitFor();
  // Its line is there without anybody's drawing it, in the metric's own unit.
  assert.equal(await page.getByRole('textbox', { name: 'Limit' }).inputValue(), '250 ms');
  await page
    .getByRole('table', { name: /^Values of/ })
    .getByRole('cell', { name: '900 ms' })
    .first()
    .waitFor({ timeout: 30_000 });
  await lookAt(page, 'units-gauge');

  await page.getByRole('link', { name: 'Make this a threshold' }).click();
  await page.getByRole('heading', { name: 'New threshold rule' }).waitFor();
  await page.getByRole('textbox', { name: 'Limit', exact: true }).fill('0.3 s');
  await page.getByText(/stays above 300 ms for/).waitFor();
  await page.getByLabel('For how long', { exact: true }).selectOption('0');
  await page.getByLabel('Name of the rule').fill('Waiting');
  await lookAt(page, 'units-threshold');
  await page.getByRole('button', { name: 'Create the rule' }).click();
  await page.getByText(/When wait goes above 300 ms, raise a warning/).waitFor();
  const api = await signIn(stack);
  const alert = await until('an alert of the rule', async () => {
    const { items } = await api.get<{ items: { text: string; limit: number }[] }>('GET', '/api/alerts');
    const found = items.find(({ text }) => text.startsWith('Waiting'));
    return found !== undefined && [found.text, found.limit];
  });
  assert.deepEqual(alert, ['Waiting is 900 ms, above the limit of 300 ms.', 300]);
});
