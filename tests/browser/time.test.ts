// Whom the appliance asks for the time: servers named, refused in words, and one that says another time.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
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

test('time servers are named; what is none is said at its row; one that lies is seen', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Fmaintenance%2Ftime');
  await signInBy(page);
  const grid = page.getByRole('grid', { name: 'What the time servers answer' });
  const row = (name: string) => grid.getByRole('row').filter({ hasText: name });
  await row('time.example').getByText('named by the network').waitFor();
  const form = page.getByRole('form', { name: 'Time servers' });
  const save = form.getByRole('button', { name: 'Save the time servers' });
  assert.equal(await save.getAttribute('aria-disabled'), 'true', 'nothing was changed');

  const names = ['ntp1.example.org', 'no name', 'ntp3.example.org'];
  for (const [at, name] of names.entries()) {
    await form.getByRole('button', { name: 'Add a time server' }).click();
    await form.getByLabel(`Time server ${at + 1}`, { exact: true }).fill(name);
  }
  await form.getByLabel('NTS: only authenticated answers of server 1').check();
  expect(/status of 400/);
  await save.click();
  await form.getByText("'no name' is no host name and no address of a time server.").waitFor();
  await lookAt(page, 'maintenance-time-refused');
  await form.getByRole('button', { name: 'Remove server 2' }).click();
  await form.getByText('as well').click();
  await form.getByText('With two servers nobody can tell which one is wrong').waitFor();
  await form.getByRole('button', { name: 'Add a time server' }).click();
  await form.getByLabel('Time server 3', { exact: true }).fill('ntp4.example.org');
  await save.click();
  await row('ntp1.example.org').getByText('yes, by NTS').waitFor();
  await row('ntp3.example.org').getByText('named by the settings').waitFor();
  assert.equal(await row('time.example').count(), 0);
  await lookAt(page, 'maintenance-time');

  await stack.simulate('time-servers', { lying: ['ntp4.example.org'] });
  await row('ntp4.example.org').getByText('It contradicts others, and is not believed.').waitFor();
  await stack.simulate('time-servers', { lying: ['ntp3.example.org', 'ntp4.example.org'] });
  await page.getByText('The servers contradict each other, and no majority agrees: none is followed.').waitFor();
  await lookAt(page, 'maintenance-time-disputed');
  await page.reload();
  assert.equal(await form.getByLabel('Time server 3', { exact: true }).inputValue(), 'ntp4.example.org');
});
