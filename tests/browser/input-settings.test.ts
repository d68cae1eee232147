// Inputs, as somebody at the page changes them; and what senders are told then.
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { after, before, test } from 'node:test';
import { setUp } from '../stack/api.ts';
import { ask } from '../stack/http.ts';
import type { Stack } from '../stack/stack.ts';
import { lookAt, type Person, person, signInBy, withStack } from './browser.ts';

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

test('an input is switched off, and its senders are told; another is kept to a network', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Fsettings%2Finputs');
  await signInBy(page);
  const row = (name: string) => page.getByRole('grid', { name: 'Inputs' }).getByRole('row').filter({ hasText: name });
  await row('statsd')
    .getByText(/^port \d+$/)
    .waitFor();

  await page.getByRole('button', { name: 'Change OpenTelemetry' }).click();
  const form = page.getByRole('form', { name: 'Save' });
  await form.getByLabel('Only from these addresses').fill('192.0.2.0/24, home');
  expect(/status of 400/);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('home is neither an address nor a network').first().waitFor();
  await lookAt(page, 'settings-input');
  await form.getByLabel('Take samples').uncheck();
  await form.getByLabel('Only from these addresses').fill('192.0.2.0/24');
  await page.getByRole('button', { name: 'Save' }).click();
  await row('OpenTelemetry').getByText('off', { exact: true }).waitFor();
  await row('OpenTelemetry').getByText('192.0.2.0/24').waitFor();

  const headers = { origin: stack.url };
  const made = await page.request.post(`${stack.url}/api/tokens`, {
    data: { name: 'sender', role: 'writer' },
    headers,
  });
  const { token } = (await made.json()) as { token: string };
  const refused = await ask(new URL(`${stack.url}/v1/metrics`), {
    headers: { authorization: `Bearer ${token}` },
    body: {},
  });
  assert.equal(refused.status, 403);
  assert.match(refused.text, /The input otlp is switched off/);

  await page.getByRole('button', { name: 'Change statsd' }).click();
  await form.getByLabel('Only from these addresses').fill('192.0.2.0/24');
  await page.getByRole('button', { name: 'Save' }).click();
  await row('statsd').getByText('192.0.2.0/24').waitFor();
  const socket = createSocket('udp4');
  socket.send('from.here:1|c', stack.statsdPort, '127.0.0.1', () => socket.close());
  await page
    .getByRole('grid', { name: 'Senders' })
    .getByRole('row')
    .filter({ hasText: '127.0.0.1' })
    .getByText('1 from elsewhere')
    .waitFor();
  await lookAt(page, 'settings-inputs');
});
