// What is shown says how old it is once it cannot be read again.
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
