// Outputs by the page: one is added to another storaged, its samples arrive there, it fails with an alert, and catches up.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { freePorts } from '../ports.ts';
import { type Person as ApiPerson, setUp } from '../stack/api.ts';
import { binaries } from '../stack/build.ts';
import { ask, until } from '../stack/http.ts';
import type { Stack } from '../stack/stack.ts';
import { lookAt, type Person, person, signInBy, withStack } from './browser.ts';

let stack: Stack;
let someone: Person;
let api: ApiPerson;
let other: ChildProcess | undefined;
let url = '';
before(async () => {
  stack = await withStack();
  api = await setUp(stack);
  someone = await person(stack);
  const [port] = (await freePorts(1)) as [number];
  url = `http://127.0.0.1:${port}`;
});
after(async () => {
  await stopOther();
  await someone?.close();
  await stack?.stop();
});

async function startOther(): Promise<void> {
  const places = ['--data', path.join(stack.dir, 'other'), '--http', new URL(url).host, '--statsd', ''];
  other = spawn(path.join(binaries, 'storaged'), places, { stdio: 'ignore' });
  await until('the other store is ready', async () =>
    (await fetch(`${url}/healthz`).catch(() => undefined))?.ok ? true : undefined,
  );
}

async function stopOther(): Promise<void> {
  if (other === undefined) return;
  other.kill('SIGTERM');
  await once(other, 'exit');
  other = undefined;
}

/** The newest value of a series in the other store, and how many it has. */
async function there(query: string): Promise<string | undefined> {
  const { data } = (await (await fetch(`${url}/api/v1/query?query=${encodeURIComponent(query)}`)).json()) as {
    data: { result: { value: [number, string] }[] };
  };
  return data.result[0]?.value[1];
}

test('an output delivers to another store, says what is wrong when that is gone, and catches up', async (t) => {
  await startOther();
  const { token } = await api.get<{ token: string }>('POST', '/api/tokens', { name: 'sender', role: 'writer' });
  let sent = 0;
  const send = async () => {
    const body = { samples: [{ name: 'shop_orders', value: ++sent, labels: { shop: 'a' } }] };
    const headers = { authorization: `Bearer ${token}` };
    assert.equal((await ask(new URL('/api/v1/import', stack.url), { headers, body })).status, 200);
  };
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Fanalytics%2Foutputs');
  expect(/status of 422/); // a selector that is none
  await signInBy(page);
  await page.getByRole('heading', { name: 'Samples are sent nowhere else' }).waitFor();
  await page.getByRole('button', { name: 'Add an output' }).click();
  await page.getByLabel('Address').fill(`${url}/api/v1/write`);
  await page.getByLabel('Series to send').fill('{shop="a"');
  await page.getByLabel('Labels to add').fill('site=berlin');
  await page.getByLabel('Name').fill('Central store');
  await page.getByRole('button', { name: 'Add the output' }).click();
  await page.getByText(/^Line 1 is no selector/).waitFor();
  await page.getByLabel('Series to send').fill('{shop="a"}');
  await page.getByRole('button', { name: 'Test' }).click();
  await page.getByRole('region', { name: 'Result of the test' }).getByText('The receiver can be reached.').waitFor();
  await lookAt(page, 'output-new');
  await page.getByRole('button', { name: 'Add the output' }).click();
  const row = page.getByRole('row').filter({ hasText: 'Central store' });
  await row.getByText('Delivering').waitFor();
  await send();
  await until('the sample is there', async () =>
    (await there('shop_orders{site="berlin"}')) === '1' ? true : undefined,
  );

  await stopOther();
  await send();
  await row.getByText('Not delivering').waitFor({ timeout: 30_000 });
  await row.getByText(/connection refused/).waitFor();
  await send();
  await lookAt(page, 'outputs-failing');
  await until(
    'the alert is raised',
    async () => {
      const { items } = await api.get<{ items: { class: string; text: string }[] }>('GET', '/api/alerts?state=active');
      return items.find(({ class: name }) => name === 'output.failing');
    },
    90,
  );

  await page.getByRole('link', { name: 'Central store' }).click();
  await page.getByText(/^Nothing is delivered since .*connection refused/).waitFor();
  await page.goto(`${stack.url}/analytics/outputs`);
  await startOther();
  await row.getByText('Delivering').waitFor({ timeout: 60_000 });
  await until('it has caught up', async () => ((await there('shop_orders')) === '3' ? true : undefined));
  assert.equal(await there('count_over_time(shop_orders[10m])'), '3', 'nothing is missing');
  await row.getByText('up to date').waitFor();

  await page.getByRole('button', { name: 'Switch off the output Central store' }).click();
  await row.getByText('Switched off').waitFor();
  await page.getByRole('link', { name: 'Central store' }).click();
  await page.getByRole('heading', { name: 'Central store' }).waitFor();
  await page.goto(`${stack.url}/analytics/outputs`);
  await page.getByRole('button', { name: 'Remove the output Central store' }).click();
  await page.getByRole('dialog').getByRole('textbox').fill('Central store');
  await page.getByRole('button', { name: 'Remove the output', exact: true }).click();
  await page.getByRole('heading', { name: 'Samples are sent nowhere else' }).waitFor();
});
