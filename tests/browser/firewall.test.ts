// The firewall, as somebody at the page changes it: tried, kept, taken back by hand and by time.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { freePorts } from '../ports.ts';
import { setUp } from '../stack/api.ts';
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

test('a change is tried; it is kept, or taken back by hand or by time', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Fsettings%2Ffirewall');
  await signInBy(page);
  const grid = page.getByRole('grid', { name: 'Services' });
  const row = (name: string) => grid.getByRole('row').filter({ hasText: name });
  await row('HTTPS: this page').getByText('everywhere').waitFor();
  await row('SSH').getByText('closed; when on: own networks').waitFor();
  const headers = { origin: stack.url };

  // What cannot be is said at the field.
  await page.getByRole('button', { name: 'Change SNMP polling' }).click();
  const form = page.getByRole('form', { name: 'Try' });
  await form.getByLabel('Only from these addresses').fill('192.0.2.0/24 home');
  expect(/status of 400/);
  await page.getByRole('button', { name: 'Try' }).click();
  await page.getByText('home is neither an address nor a network').first().waitFor();
  await lookAt(page, 'settings-firewall-service');

  await form.getByLabel('Only from these addresses').fill('192.0.2.0/24');
  await page.getByRole('button', { name: 'Try' }).click();
  await page.getByText(/taken back in \d+ s unless you keep it/).waitFor();
  await row('SNMP').getByText('192.0.2.0/24').waitFor();
  assert.equal(
    await page.getByRole('button', { name: 'Change SNMP polling' }).getAttribute('aria-disabled'),
    'true',
    'one change at a time',
  );
  await lookAt(page, 'settings-firewall-trying');
  await page.getByRole('button', { name: 'Take back' }).click();
  await page.getByText(/taken back in \d+ s/).waitFor({ state: 'detached' });
  await row('SNMP').getByText('own networks').waitFor();

  await page.getByRole('button', { name: 'Change SNMP polling' }).click();
  await form.getByLabel('Only from these addresses').fill('198.51.100.0/24');
  await page.getByRole('button', { name: 'Try' }).click();
  await page.getByRole('button', { name: 'Keep' }).click();
  await page.getByText(/taken back in \d+ s/).waitFor({ state: 'detached' });
  await row('SNMP').getByText('198.51.100.0/24').waitFor();

  // Another window has begun a change, which nobody keeps: the page shows it, and its end.
  const tried = await page.request.post(`${stack.url}/api/firewall/try`, {
    data: { services: [{ name: 'snmp', networks: [] }], seconds: 10 },
    headers,
  });
  assert.equal(tried.status(), 200, await tried.text());
  await row('SNMP').getByText('everywhere').waitFor();
  await row('SNMP').getByText('198.51.100.0/24').waitFor();
  await page.getByText(/taken back in \d+ s/).waitFor({ state: 'detached' });

  // Who was turned away is let in from the list.
  await stack.simulate('firewall-ssh', { on: true });
  await stack.simulate('firewall-drop', { address: '198.51.100.9', protocol: 'tcp', port: 22, packets: 1234 });
  await stack.simulate('firewall-drop', { address: '2001:db8:7::9', protocol: 'tcp', port: 22, packets: 3 });
  await stack.simulate('firewall-differs', { rule: 'input: tcp dport [23] accept' });
  await page.getByText('This rule was not made here').waitFor({ timeout: 40_000 });
  await row('SSH').getByText('22/tcp').waitFor({ timeout: 40_000 });
  await page.getByRole('grid', { name: 'Turned away' }).getByText('198.51.100.9').waitFor();
  await lookAt(page, 'settings-firewall');
  await page.getByRole('button', { name: 'Let in 198.51.100.9' }).click();
  assert.match(await form.getByLabel('Only from these addresses').inputValue(), /^own 198\.51\.100\.9$/);
  await page.getByRole('button', { name: 'Try' }).click();
  await page.getByRole('button', { name: 'Keep' }).click();
  await row('SSH').getByText('198.51.100.9/32').waitFor();
});

test('a sender that the firewall has dropped is let in where inputs are set', async (t) => {
  const { page } = await someone.visit(t, '/sign-in?to=%2Fsettings%2Finputs');
  await signInBy(page);
  await page.getByRole('grid', { name: 'Inputs' }).waitFor();
  const [port = 0] = await freePorts(1);
  const set = await page.request.put(`${stack.url}/api/inputs/graphite`, {
    data: {
      ...{ enabled: true, networks: ['own'], port, picklePort: 0, tlsPort: null, tlsClientCa: null },
      ...{
        seriesPerSecond: 0,
        seriesBurst: 0,
        senderSeriesPerSecond: 0,
        senderSeriesBurst: 0,
        senderSamplesPerSecond: 0,
        senderIsHost: false,
        hostNames: [],
        refusedSenders: [],
      },
    },
    headers: { origin: stack.url },
  });
  assert.equal(set.status(), 200, await set.text());
  const packet = { address: '203.0.113.5', protocol: 'tcp', port, packets: 9 };
  await stack.simulate('firewall-drop', packet);
  await page.getByRole('button', { name: 'Allow 203.0.113.5' }).click({ timeout: 40_000 });
  await page
    .getByRole('grid', { name: 'Inputs' })
    .getByRole('row')
    .filter({ hasText: 'Graphite' })
    .getByText('203.0.113.5/32')
    .waitFor();
  const wall = (await (await page.request.get(`${stack.url}/api/firewall`)).json()) as {
    services: { name: string; networks: string[] }[];
  };
  assert.deepEqual(wall.services.find(({ name }) => name === 'graphite')?.networks, ['own', '203.0.113.5/32']);
});
