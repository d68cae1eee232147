// What is shown says how old it is once it cannot be read again; a chart whose data has stopped says since when,
// and one whose data repeats how often.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setUp } from '../stack/api.ts';
import { until } from '../stack/http.ts';
import type { Stack } from '../stack/stack.ts';
import { lookAt, type Person, person, signInBy, withStack } from './browser.ts';
import { latencies, sequence } from './load.ts';

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

test('a page says its age while the appliance does not answer, and no longer when it does', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Fstatus');
  await signInBy(page);
  await page.getByRole('img', { name: /^Measurements taken in/ }).waitFor();
  const age = page.getByRole('status').filter({ hasText: /^As of / });
  assert.equal(await age.count(), 0);

  expect(/status of 50\d/);
  await stack.stopPart('akd');
  await age.filter({ hasText: /^As of \d\d:\d\d:\d\d, \d+ seconds ago$/ }).waitFor();
  await lookAt(page, 'status-old');
  await stack.startPart('akd');
  await age.waitFor({ state: 'detached' });
});

test('a chart says since when its sender sent nothing, and no longer when something comes', async (t) => {
  const { page } = await someone.visit(t, '/sign-in?to=%2Fanalytics%2Fexplore%3Fmetric%3Dkettle_level');
  let level = 20;
  const send = () => stack.import([{ name: 'kettle_level', labels: { host: 'kettle' }, value: ++level }]);
  let sending = setInterval(() => void send().catch(() => {}), 500);
  t.after(() => clearInterval(sending));
  await signInBy(page);
  await page.getByRole('heading', { name: /kettle_level/ }).waitFor();
  const silent = page.getByText(/^No data since \d\d:\d\d:\d\d$/);
  // There are some seconds of it before it stops.
  await until('seconds of the metric', async () => level > 36 || undefined);
  assert.equal(await silent.count(), 0);
  clearInterval(sending);
  const stopped = Date.now();
  await silent.waitFor({ timeout: 60_000 });
  const [hours = 0, minutes = 0, seconds = 0] = ((await silent.textContent()) ?? '').match(/\d+/g)?.map(Number) ?? [];
  const said = new Date(stopped);
  // The browser is in Berlin: only minutes and seconds are compared.
  said.setMinutes(minutes, seconds);
  assert.ok(
    hours < 24 && Math.abs(said.getTime() - stopped) < 5_000,
    `${said.toISOString()} ${new Date(stopped).toISOString()}`,
  );
  await lookAt(page, 'chart-silent');
  sending = setInterval(() => void send().catch(() => {}), 500);
  await silent.waitFor({ state: 'detached' });
});

test('a heatmap says since when there were no events', async (t) => {
  await stack.import(latencies('kettle_boil_seconds', 60, { host: 'kettle' }));
  const { page } = await someone.visit(t, '/sign-in?to=%2Fanalytics%2Fexplore%3Fmetric%3Dkettle_boil_seconds');
  await signInBy(page);
  await page.getByText(/^No events since \d\d:\d\d:\d\d$/).waitFor();
  await page.getByLabel('Time range').selectOption('60');
  await page.getByRole('button', { name: 'Pause' }).click();
  // Of a time that has been no more events can come.
  await page.getByText(/^No events since/).waitFor({ state: 'detached' });
});

test('a chart says how often what it shows repeats', async (t) => {
  const now = Math.floor(Date.now() / 10_000) * 10;
  const random = sequence(11);
  await stack.import(
    Array.from({ length: 540 }, (_, i) => ({
      name: 'kettle_queue',
      labels: { host: 'kettle' },
      time: now - 5_400 + 10 * i,
      // A job of a minute, every ten minutes.
      value: (i % 60 < 6 ? 12 : 2) + random(),
    })),
  );
  const { page } = await someone.visit(t, '/sign-in?to=%2Fanalytics%2Fexplore%3Fmetric%3Dkettle_queue%26range%3D7200');
  await signInBy(page);
  await page.getByText('Repeats every 10 minutes', { exact: true }).waitFor();
  await lookAt(page, 'chart-repeats');
});
