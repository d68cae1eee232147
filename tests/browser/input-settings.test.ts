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
import { exactly, lookAt, type Person, person, signInBy, withStack } from './browser.ts';

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

/** Sends a packet of statsd from one of this machine's addresses. */
async function packet(line: string, from = '127.0.0.1'): Promise<void> {
  const socket = createSocket('udp4');
  socket.bind(0, from);
  await once(socket, 'listening');
  await new Promise((resolve) => socket.send(line, stack.statsdPort, '127.0.0.1', resolve));
  socket.close();
}

test('an empty Explore has lines with a token, and draws the first sample; its sender is named, another one refused', async (t) => {
  const { page } = await someone.visit(t, '/sign-in?to=%2Fanalytics%2Fexplore');
  await signInBy(page);
  await page.getByText('Nothing has been sent here yet').waitFor();
  await page.getByLabel('Client', { exact: true }).selectOption('Prometheus');
  const lines = page.getByRole('region', { name: 'Lines for Prometheus' });
  await lines.getByText('credentials: TOKEN').waitFor();
  await page.getByRole('button', { name: 'Make a token for it' }).click();
  await lines.getByText('credentials: TOKEN').waitFor({ state: 'detached' });
  await page.getByText('is shown this once: copy it now').waitFor();
  const [, token] = /credentials: (\S+) }/.exec((await lines.textContent()) ?? '') ?? [];
  await lookAt(page, 'explore-empty');
  const began = performance.now();
  await packet('first.sample:7|g');
  const first = page.getByRole('region', { name: 'The first sample: first.sample' });
  await first.getByText('7', { exact: true }).first().waitFor();
  t.diagnostic(`the first sample is drawn after ${Math.round(performance.now() - began)} ms`);
  await lookAt(page, 'explore-first');
  const sent = await ask(new URL('/api/v1/import', stack.url), {
    headers: { authorization: `Bearer ${token}` },
    body: { samples: [{ name: 'by.token', value: 1 }] },
  });
  assert.equal(sent.status, 200, sent.text);

  await page.goto(`${stack.url}/status`);
  const newSenders = page.getByRole('list', { name: 'New senders' });
  const one = newSenders.getByRole('listitem').filter({ hasText: 'by statsd' });
  await one.getByText('127.0.0.1').waitFor();
  await lookAt(page, 'status-new-senders');
  await page.getByRole('button', { name: 'Name it: 127.0.0.1 by statsd' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel(exactly('Name')).fill('web 1');
  await lookAt(page, 'status-name-sender');
  await dialog.getByRole('button', { name: 'Name it' }).click();
  await one.waitFor({ state: 'detached' });
  await packet('second.sample:1|g');
  await page.goto(`${stack.url}/analytics/explore?f.host=web+1`);
  const metrics = page.getByRole('grid', { name: 'Metrics' });
  await metrics.getByRole('link', { name: 'second.sample' }).waitFor();
  assert.equal(await metrics.getByRole('link', { name: 'first.sample' }).count(), 0, 'it keeps its labels');
  await lookAt(page, 'explore-of-a-host');

  await packet('third.sample:1|g', '127.0.0.2');
  await page.goto(`${stack.url}/settings/inputs`);
  await page.getByRole('button', { name: 'Refuse it: 127.0.0.2 by statsd' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Refuse it' }).click();
  const refused = page.getByRole('grid', { name: 'Refused senders' }).getByRole('row').filter({ hasText: '127.0.0.2' });
  await refused.waitFor();
  await packet('fourth.sample:1|g', '127.0.0.2');
  const row = page.getByRole('grid', { name: 'Senders' }).getByRole('row').filter({ hasText: '127.0.0.2' });
  await row.getByText('1 of refused senders').waitFor();
  await lookAt(page, 'settings-inputs-refused');
  await refused.getByRole('button', { name: 'Take it again: 127.0.0.2 by statsd' }).click();
  await refused.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Change statsd' }).click();
  await page.getByText('its address becomes the label host').waitFor();
  assert.equal(await page.getByLabel('Names of senders').inputValue(), '127.0.0.1 web 1');
  await lookAt(page, 'settings-input-statsd');
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
  await packet('from.here:1|c');
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
  // The usual one may be another test's, or another program's.
  await form.getByLabel('Port for pickle').fill('0');
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
