// The addresses of the machine, as somebody at the page changes them: tried, kept by opening the page at the new address, taken back by
// hand, by time and by a machine that has the address already.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setUp } from '../stack/api.ts';
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

test('an address is tried; it is kept where it leads to, or taken back', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Fsettings%2Fnetwork');
  await signInBy(page);
  const grid = page.getByRole('grid', { name: 'Interfaces' });
  const row = (name: string) => grid.getByRole('row').filter({ hasText: name });
  await row('eno1').getByText('192.0.2.10/24').waitFor();
  await row('eno2').getByText('No cable').waitFor();
  await page.getByText('192.0.2.1 by eno1, answers').waitFor();
  await lookAt(page, 'settings-network');

  // The commonest accident is refused at its field, and may be meant.
  await page.getByRole('button', { name: 'Change eno1' }).click();
  const form = page.getByRole('form', { name: 'eno1' });
  await form.getByLabel('IPv4 addresses').selectOption('Only those below');
  await form.getByLabel(exactly('Addresses of IPv4')).fill('192.0.2.77');
  expect(/status of 400/);
  await form.getByRole('button', { name: 'Try' }).click();
  await form.getByText('is no IPv4 address with the length of its network').waitFor();
  await form.getByLabel(exactly('Addresses of IPv4')).fill('192.0.2.77/24');
  await form.getByRole('button', { name: 'Try' }).click();
  await form.getByText('There would be no gateway any more (now it is 192.0.2.1)').waitFor();
  await form.getByLabel('No gateway is wanted').waitFor();
  await lookAt(page, 'settings-network-interface');
  await form.getByLabel('Gateway of IPv4').fill('192.0.2.1');
  await form.getByRole('button', { name: 'Try' }).click();

  await page.getByText(/taken back in \d+ s unless you keep it/).waitFor();
  await page.getByText('It holds now.').waitFor();
  await row('eno1').getByText('192.0.2.77/24').first().waitFor();
  const link = page.getByRole('link', { name: 'https://192.0.2.77' });
  const [, token] = ((await link.getAttribute('href')) ?? '').split('#');
  assert.match(token ?? '', /^[\w-]{20,}$/);
  assert.equal(
    await page.getByRole('button', { name: 'Change eno2' }).getAttribute('aria-disabled'),
    'true',
    'one change at a time',
  );
  // The pointer is where a button was that says now why it cannot be pressed.
  await page.mouse.move(0, 0);
  await page.getByRole('tooltip').waitFor({ state: 'detached' });
  await lookAt(page, 'settings-network-trying');
  await page.getByRole('button', { name: 'Take back' }).click();
  await page.getByText('Somebody took it back.').waitFor();
  await row('eno1').getByText('192.0.2.10/24').waitFor();

  // Kept by somebody who has not signed in, at the address of the link.
  await page.getByRole('button', { name: 'Change eno1' }).click();
  await form.getByLabel('IPv4 addresses').selectOption('Only those below');
  await form.getByLabel(exactly('Addresses of IPv4')).fill('192.0.2.77/24');
  await form.getByLabel('Gateway of IPv4').fill('192.0.2.1');
  await form.getByRole('button', { name: 'Try' }).click();
  await link.waitFor();
  const [, again] = ((await link.getAttribute('href')) ?? '').split('#');
  const other = await person(stack);
  t.after(() => other.close());
  const elsewhere = await other.visit(t, `/confirm-network#${again}`);
  await elsewhere.page.getByText('The network is kept as it is now').waitFor();
  assert.equal(new URL(elsewhere.page.url()).hash, '', 'the token stands in no history');
  await lookAt(elsewhere.page, 'confirm-network');
  await page.getByText(/taken back in \d+ s/).waitFor({ state: 'detached' });
  await row('eno1').getByText('IPv4: 192.0.2.77/24').waitFor();
  elsewhere.expect(/status of 409/);
  await elsewhere.page.goto(`${stack.url}/confirm-network?again#${again}`);
  await elsewhere.page.getByText('The network was not kept').waitFor();

  // Another machine has it.
  await stack.simulate('network-duplicate', { address: '192.0.2.78/24' });
  await page.getByRole('button', { name: 'Change eno1' }).click();
  await form.getByLabel(exactly('Addresses of IPv4')).fill('192.0.2.78/24');
  await form.getByRole('button', { name: 'Try' }).click();
  await page.getByText('Another machine has the address 192.0.2.78/24 already.').waitFor();
  await row('eno1').getByText('192.0.2.77/24').first().waitFor();
});

test('a VLAN, a bond, names and routes', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Fsettings%2Fnetwork');
  await signInBy(page);
  const grid = page.getByRole('grid', { name: 'Interfaces' });
  const row = (name: string) => grid.getByRole('row').filter({ hasText: name });
  await stack.simulate('link', { name: 'eno2', carrier: true });
  const keep = async () => {
    await page.getByText('It holds now.').waitFor();
    await page.getByRole('button', { name: 'Keep' }).click();
    await page.getByText(/taken back in \d+ s/).waitFor({ state: 'detached' });
  };

  await page.getByRole('button', { name: 'Add a VLAN' }).click();
  const form = page.getByRole('form', { name: 'New interface' });
  await form.getByLabel('Number of the VLAN').fill('4711');
  await form.getByLabel('IPv4 addresses').selectOption('Only those below');
  await form.getByLabel(exactly('Addresses of IPv4')).fill('198.51.100.7/24');
  expect(/status of 400/);
  await form.getByRole('button', { name: 'Try' }).click();
  await form
    .getByText(/1 to 4094|less than|at most|<= 4094/)
    .first()
    .waitFor();
  await form.getByLabel('Number of the VLAN').fill('7');
  await form.getByRole('button', { name: 'Try' }).click();
  await keep();
  await row('vlan0').getByText('VLAN 7 of eno1').waitFor();
  await row('vlan0').getByText('198.51.100.7/24').first().waitFor();

  await page.getByRole('button', { name: 'Change names and routes' }).click();
  const names = page.getByRole('form', { name: 'Names and routes' });
  await names.getByLabel('DNS servers').fill('192.0.2.53, 2001:db8::53');
  await names.getByLabel('Search domains').fill('Example.org');
  await names.getByLabel('Routes').fill('203.0.113.0/24 via 10.9.9.9');
  await names.getByRole('button', { name: 'Try' }).click();
  await names.getByText('The router 10.9.9.9 is in no network').waitFor();
  await lookAt(page, 'settings-network-names');
  await names.getByLabel('Routes').fill('203.0.113.0/24 via 198.51.100.1');
  await names.getByRole('button', { name: 'Try' }).click();
  await keep();
  await page.getByText('203.0.113.0/24 via 198.51.100.1').waitFor();
  await page.getByText('example.org', { exact: true }).waitFor();

  // The port of a VLAN cannot go into a bond; what a route leads by cannot be removed.
  const bond = async (...members: string[]) => {
    await page.getByRole('button', { name: 'Add a bond' }).click();
    for (const name of members) await form.getByLabel(name).check();
    await form.getByRole('button', { name: 'Try' }).click();
  };
  await bond('eno1', 'eno2');
  await form.getByText('eno1 is in the bond bond0: the VLAN is of the bond.').waitFor();
  await form.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Remove vlan0' }).click();
  await page.getByText('could not be reached').waitFor();
  await page.getByRole('button', { name: 'Change names and routes' }).click();
  await names.getByLabel('Routes').fill('');
  await names.getByRole('button', { name: 'Try' }).click();
  await keep();
  await page.getByRole('button', { name: 'Remove vlan0' }).click();
  await keep();
  await row('vlan0').waitFor({ state: 'detached' });
  await bond('eno2');
  await form.getByText('needs two ports').waitFor();
  await lookAt(page, 'settings-network-bond');
  await form.getByLabel('eno1').check();
  await form.getByRole('button', { name: 'Try' }).click();
  await keep();
  await row('bond0').getByText('one at a time: eno2, eno1').waitFor();
  await row('eno1').getByText('A part of bond0.').waitFor();
  await page.getByRole('button', { name: 'Remove bond0' }).click();
  await keep();
  await row('eno1').getByText('192.0.2.10/24').waitFor();
});
