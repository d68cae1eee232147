// Inputs, as somebody at the page changes them; and what senders are told then.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { setUp } from '../stack/api.ts';
import { ask, until } from '../stack/http.ts';
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
  const others = page.getByRole('grid', { name: 'Other ways in' });
  const other = (name: string) => others.getByRole('row').filter({ hasText: name });
  await other('SNMP polling').getByText('off', { exact: true }).waitFor();
  await other('Replication').getByText('closed').waitFor();
  assert.equal(await other('SSH').getByRole('link', { name: 'SSH' }).getAttribute('href'), '/settings/ssh');
  await lookAt(page, 'settings-inputs');

  // Whose data does not arrive is let in with one click.
  await page.getByText('What 127.0.0.1 sent by statsd was refused').waitFor();
  await page.getByRole('button', { name: 'Allow 127.0.0.1' }).click();
  await row('statsd').getByText('192.0.2.0/24, 127.0.0.1/32').waitFor();
  await page.getByText('What 127.0.0.1 sent by statsd was refused').waitFor({ state: 'detached' });

  // To another port, and not to one that somebody has.
  const taken = createServer().listen(0);
  await once(taken, 'listening');
  t.after(() => taken.close());
  await page.getByRole('button', { name: 'Change Graphite' }).click();
  await form.getByLabel('Take samples').check();
  await form.getByLabel('Port', { exact: true }).fill('443');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('belongs to the pages').first().waitFor();
  expect(/status of 409/);
  await form.getByLabel('Port', { exact: true }).fill(String((taken.address() as { port: number }).port));
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('in use by another program').first().waitFor();
  await lookAt(page, 'settings-input-port');

  // The lines that the page shows are run as they are: what they send arrives.
  await page.getByRole('button', { name: 'Cancel' }).click();
  const client = page.getByLabel('Client', { exact: true });
  const lines = async (name: string) => {
    await client.selectOption(name);
    return ((await page.getByRole('region', { name: `Lines for ${name}` }).textContent()) ?? '').trim();
  };
  const line = await lines('statsd, from a shell');
  assert.match(line, new RegExp(`/${stack.statsdPort}$`));
  const byCurl = await lines('Line protocol, by curl');
  await promisify(execFile)('bash', ['-c', line]);
  const [, header, sample, to] = /-H '(.*?)' --data-binary '(.*?)' '(.*?)'/.exec(byCurl) ?? [];
  const [key, value] = (header ?? '').replace('TOKEN', token).split(': ');
  const sent = await ask(new URL(to ?? ''), { headers: { [key ?? '']: value ?? '' }, body: sample ?? '' });
  assert.equal(sent.status, 204, sent.text);
  const known = async (name: string) => {
    const query = `${stack.url}/api/v1/query?query=${encodeURIComponent(`count({"${name}"})`)}`;
    return ((await (await page.request.get(query)).json()) as { data: { result: unknown[] } }).data.result.length;
  };
  await until('what the shell sent', async () => (await known('shop.checkout')) === 1);
  assert.equal(await known('disk_used'), 1);
});
