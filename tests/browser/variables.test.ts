// One worksheet for many hosts: a variable is made, chosen, in the address, and saved.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setUp, signIn } from '../stack/api.ts';
import type { Stack } from '../stack/stack.ts';
import { lookAt, type Person, person, signInBy, withStack } from './browser.ts';

let stack: Stack;
let someone: Person;
let id: string;
before(async () => {
  stack = await withStack();
  await setUp(stack);
  const now = Math.floor(Date.now() / 1000);
  const samples = ['web1', 'web2', 'db.1'].flatMap((host, at) =>
    Array.from({ length: 120 }, (_, n) => ({
      ...{ name: 'load_one', labels: { host }, time: now - n, value: 10 * (at + 1) },
    })),
  );
  await stack.import(samples);
  const api = await signIn(stack);
  const made = await api.get<{ id: string }>('POST', '/api/worksheets', {
    ...{ name: 'Hosts', description: '', shared: false, rangeSeconds: 300, end: null, annotations: [] },
    charts: [
      { id: 'c1', query: 'load_one{host="$host"}', title: 'Load of $host' },
      { id: 'c2', query: 'max_over_time(load_one{host=~"$host"}[$__rate_interval])', title: 'Highest' },
    ],
  });
  id = made.id;
  someone = await person(stack);
});
after(async () => {
  await someone?.close();
  await stack?.stop();
});

test('a variable stands for the hosts that are chosen, in the charts, the address and what is saved', async (t) => {
  const { page } = await someone.visit(t, `/sign-in?to=%2Fanalytics%2Fworksheets%2F${id}`);
  await signInBy(page);
  await page.getByText('This worksheet has no variable called $host.').first().waitFor({ timeout: 30_000 });
  await page.getByRole('button', { name: 'Worksheet', exact: true }).click();
  await page.getByRole('menuitem', { name: 'Variables…' }).click();
  const form = page.getByRole('dialog');
  await form.getByRole('button', { name: 'Add a variable' }).click();
  await form.getByRole('button', { name: 'Save' }).click();
  await form.getByText('Letters, digits and _, a letter first.').waitFor();
  await form.getByLabel('Name').fill('host');
  await form.getByLabel('Label').fill('host');
  await form.getByLabel('Of the metric').fill('load_one');
  await lookAt(page, 'variables-form');
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'Load of every host' }).waitFor();
  const lines = page.getByRole('img', { name: /^Load of/ });
  await page.getByRole('img', { name: 'Load of every host: 3 lines' }).waitFor({ timeout: 30_000 });

  await page.getByRole('button', { name: 'host', exact: true }).click();
  await page
    .getByRole('menuitem', { name: 'web1' })
    .or(page.getByRole('option', { name: 'web1' }))
    .click();
  await page.getByRole('img', { name: 'Load of web1: 1 line' }).waitFor();
  await page
    .getByRole('menuitem', { name: 'db.1' })
    .or(page.getByRole('option', { name: 'db.1' }))
    .click();
  await page.getByRole('img', { name: 'Load of web1, db.1: 2 lines' }).waitFor();
  await page.keyboard.press('Escape');
  assert.match(page.url(), /var-host=web1&var-host=db\.1/);
  await lookAt(page, 'variables');
  assert.equal(await lines.count(), 1);

  // "Back" undoes a choice, and the address brings it anywhere.
  const address = page.url();
  await page.goBack();
  await page.getByRole('img', { name: 'Load of web1: 1 line' }).waitFor();
  await page.goto(address);
  await page.getByRole('img', { name: 'Load of web1, db.1: 2 lines' }).waitFor({ timeout: 30_000 });

  // What is chosen when the variables are saved is what it opens with.
  await page.getByRole('button', { name: 'Worksheet', exact: true }).click();
  await page.getByRole('menuitem', { name: 'Variables…' }).click();
  await form.getByRole('button', { name: 'Save' }).click();
  await form.waitFor({ state: 'detached' });
  await page.goto(`${stack.url}/analytics/worksheets/${id}`);
  await page.getByRole('img', { name: 'Load of web1, db.1: 2 lines' }).waitFor({ timeout: 30_000 });
});
