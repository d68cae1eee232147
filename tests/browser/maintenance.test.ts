// A support bundle: made with one button, its steps seen, downloaded, opened, deleted.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
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

test('a bundle is made, downloaded and deleted', async (t) => {
  const { page } = await someone.visit(t, '/sign-in?to=%2Fmaintenance');
  await signInBy(page);
  await page.getByText('No bundle has been made').waitFor();
  await page.getByRole('button', { name: 'Make a support bundle' }).click();
  const bundle = page.getByRole('region', { name: /^Support bundle \S/ });
  await bundle.waitFor();
  const link = bundle.getByRole('link', { name: /^Download/ });
  await link.waitFor({ timeout: 60_000 });
  await bundle.getByRole('button', { name: 'Show the steps' }).click();
  await bundle.getByRole('list', { name: 'Steps' }).waitFor();
  await bundle.getByText(/the bundle is still useful|steps ended well/).waitFor();
  await lookAt(page, 'maintenance-steps');

  const [download] = await Promise.all([page.waitForEvent('download'), link.click()]);
  const file = await download.path();
  assert.match(download.suggestedFilename(), /\.tar\.zst$/);
  const names = execFileSync('tar', ['--zstd', '-tf', file], { encoding: 'utf8' });
  assert.match(names, /manifest/);

  const name = ((await bundle.getByRole('heading').first().textContent()) ?? '').trim();
  await bundle.getByRole('button', { name: /^Delete/ }).click();
  await page.getByRole('dialog').getByRole('textbox').fill(name);
  await page.getByRole('button', { name: 'Delete the bundle' }).click();
  await page.getByText('No bundle has been made').waitFor();
});
