// Applications: listed without a rule, looked into, and made of names by a rule.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setUp } from '../stack/api.ts';
import type { Stack } from '../stack/stack.ts';
import { exactly, lookAt, type Person, person, signInBy, withStack } from './browser.ts';

let stack: Stack;
let someone: Person;

/** Its hosts are listed. */
const SENDER = '192.0.2.9';

type Bins = Readonly<Record<string, number>>;

/** In each of the last so many seconds. */
const durations = (name: string, labels: Readonly<Record<string, string>>, bins: Bins, seconds = 900) => {
  const now = Math.floor(Date.now() / 1000);
  return Array.from({ length: seconds }, (_, ago) => ({ name, labels, time: now - ago, histogram: { bins } }));
};

const served = (route: string, status: string, host: string, bins: Bins) =>
  durations(
    'http.server.request.duration',
    {
      ...{ job: 'shop', instance: `${host}:8080`, 'host.name': host, 'http.request.method': 'GET' },
      ...{ 'http.route': route, 'http.response.status_code': status },
    },
    bins,
  );

before(async () => {
  stack = await withStack();
  await setUp(stack);
  await stack.import(
    [
      ...served('/cart/{id}', '200', 'web-1', { '0.021': 20, '0.12': 2 }),
      ...served('/cart/{id}', '200', 'web-2', { '0.024': 20 }),
      ...served('/pay', '200', 'web-1', { '0.11': 8 }),
      ...served('/pay', '503', 'web-1', { '2.1': 2 }),
      ...durations(
        'db.client.operation.duration',
        { job: 'shop', 'host.name': 'web-1', 'db.system.name': 'postgresql', 'db.operation.name': 'SELECT' },
        { '0.0031': 40 },
      ),
      ...durations('prod.mail.send.time', {}, { '0.4': 3 }),
    ],
    SENDER,
  );
  someone = await person(stack);
});
after(async () => {
  await someone?.close();
  await stack?.stop();
});

const to = (path: string) => `/sign-in?to=${encodeURIComponent(path)}`;

test('what follows a convention is listed, looked into down to one operation, and kept', async (t) => {
  const { page } = await someone.visit(t, to('/applications'));
  await signInBy(page);
  await page.getByText('1 of 1 application fails in 1 % of operations or more.').waitFor();
  const table = page.getByRole('grid', { name: 'Applications', ...exactly });
  await table.getByText('Asked of databases').waitFor();
  await lookAt(page, 'applications');
  await page.getByLabel('Order').selectOption({ label: 'Slowest' });
  assert.match(page.url(), /sort=slow/);
  await table.getByRole('link', { name: 'shop' }).first().click();
  await page.getByRole('heading', { name: 'shop', level: 1 }).waitFor();
  await page.getByRole('link', { name: 'web-2', ...exactly }).waitFor();
  await page
    .getByRole('link', { name: 'SELECT' })
    .or(page.getByRole('link', { name: 'postgresql SELECT' }))
    .waitFor();
  await page.getByText('HTTP requests served: durations').waitFor();
  await lookAt(page, 'application');
  await page.getByRole('link', { name: 'GET /pay', ...exactly }).click();
  await page.getByRole('heading', { name: 'GET /pay', level: 1 }).waitFor();
  // 2 of 10; nothing comes since they were sent.
  await page.getByText(/^[\d.]+\/s, 20 % fail, 99 of 100 within 2\.\d+ s/).waitFor();
  await page.getByText('GET /pay: durations').waitFor();
  assert.equal(new URL(page.url()).pathname, '/applications/shop/GET%20%2Fpay');
  await page.getByRole('button', { name: 'Keep as a worksheet' }).click();
  await page.waitForURL(/\/analytics\/worksheets\//);
  await page.getByText('GET /pay: failures a second').waitFor();
});

test('a host names its applications, and the search finds them', async (t) => {
  const { page } = await someone.visit(t, to('/hosts/web-2'));
  await signInBy(page);
  const applications = page.getByRole('region', { name: 'Applications' });
  await applications.getByRole('link', { name: 'shop' }).first().waitFor();
  assert.equal(await applications.getByText('Asked of databases').count(), 0);
  await page.keyboard.press('/');
  await page.keyboard.type('shop');
  await page.getByRole('option', { name: /shop.*HTTP requests served/ }).click();
  await page.waitForURL(/\/applications\/shop$/);
});

test('names become applications by a rule; a wrong one is told at its field', async (t) => {
  const { page, expect } = await someone.visit(t, to('/applications'));
  expect(/status of 400/);
  await signInBy(page);
  await page.getByRole('button', { name: 'Applications by name' }).click();
  await page.getByRole('button', { name: 'Add a rule' }).click();
  await page.getByLabel('Names of durations 1').fill('*.time');
  await page.getByRole('button', { name: 'Save the rules' }).click();
  await page.getByText('write {application} once, for the part of the name that is the application').waitFor();
  await page.getByLabel('Names of durations 1').fill('prod.{application}.{operation}.time');
  await page.getByRole('button', { name: 'Save the rules' }).click();
  await page.getByRole('link', { name: 'mail', ...exactly }).waitFor();
  await page.getByRole('button', { name: 'Applications by name (1 rule)' }).waitFor();
  await lookAt(page, 'applications-rules');
  await page.getByRole('link', { name: 'mail', ...exactly }).click();
  await page.getByText(/Known by its names: [\d.]+\/s, 99 of 100 within 410 ms/).waitFor();
  await page.getByRole('link', { name: 'send', ...exactly }).waitFor();
});
