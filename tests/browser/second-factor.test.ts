// Second factors, as somebody with a phone uses them: the app is this test itself.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import decodeQR from 'qr/decode.js';
import { administrator, setUp } from '../stack/api.ts';
import type { Stack } from '../stack/stack.ts';
import { exactly, lookAt, type Person, passwordDialog, person, signInBy, withStack } from './browser.ts';

const OWN = 'violet tractor umbrella';

let stack: Stack;
let someone: Person;
/** What the administrator's app and sheet of paper hold, once there are some. */
let secret = '';
let recoveryCodes: string[] = [];
before(async () => {
  stack = await withStack();
  await setUp(stack);
  someone = await person(stack);
});
after(async () => {
  await someone?.close();
  await stack?.stop();
});

/** What the app shows so many half minutes from now. */
function code(of: string, later = 0): string {
  const bits = [...of].map((letter) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'));
  const seed = Buffer.from((bits.join('').match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + later));
  const mac = createHmac('sha1', seed).update(counter).digest();
  const number = mac.readUInt32BE((mac.at(-1) as number) & 15) & 0x7fff_ffff;
  return String(number % 1_000_000).padStart(6, '0');
}

function inState(sql: string): void {
  const db = new DatabaseSync(path.join(stack.dir, 'akd/state.db'));
  db.exec(`PRAGMA busy_timeout = 5000; ${sql}`);
  db.close();
}
/** As if the last code had been given long ago. */
const later = () => inState('UPDATE factors SET last_step = 0');

async function signInAs(page: Page, name: string, password: string): Promise<void> {
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

async function giveCode(page: Page, given: string): Promise<void> {
  await page.getByLabel(exactly('Code')).fill(given);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** What a phone reads off the page. */
async function scan(page: Page): Promise<string> {
  const picture = page.getByRole('img', { name: 'QR code for the authenticator app' });
  const modules = Number((await picture.getAttribute('viewBox'))?.split(' ')[2]);
  const drawn = (await picture.locator('path').getAttribute('d')) ?? '';
  const dark = new Set([...drawn.matchAll(/M(\d+) (\d+)h1v1h-1z/g)].map(([, x, y]) => `${x} ${y}`));
  const scale = 4;
  const width = modules * scale;
  const data = Uint8Array.from({ length: width * width * 4 }, (_, at) => {
    const [x, y] = [Math.floor(at / 4) % width, Math.floor(at / 4 / width)];
    return at % 4 === 3 || !dark.has(`${Math.floor(x / scale)} ${Math.floor(y / scale)}`) ? 255 : 0;
  });
  return decodeQR({ width, height: width, data });
}

/** From the form for the name to the recovery codes. */
async function addApp(page: Page, name: string): Promise<string> {
  await page.getByLabel('What you call it').fill(name);
  await page.getByRole('button', { name: 'Show the QR code' }).click();
  const key = page.getByRole('textbox', { name: 'Key' });
  const typed = (await key.inputValue()).replaceAll(' ', '');
  assert.match(typed, /^[A-Z2-7]{32}$/);
  assert.equal(new URL(await scan(page)).searchParams.get('secret'), typed);
  return typed;
}

test('an app is added in the profile: a QR code, a code, recovery codes', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Fprofile');
  expect(/status of 400/);
  await signInBy(page);
  await page.getByRole('button', { name: 'Add an app' }).click();
  secret = await addApp(page, 'phone');
  await page.getByLabel(exactly('Code')).fill('000000');
  await page.getByRole('button', { name: 'Add the app' }).click();
  await page.getByText(/is not what the app shows/).waitFor();
  await lookAt(page, 'second-factor-add');
  await page.getByLabel(exactly('Code')).fill(code(secret));
  await page.getByRole('button', { name: 'Add the app' }).click();
  const list = page.getByRole('list', { name: 'Recovery codes' });
  await list.waitFor();
  recoveryCodes = await list.getByRole('listitem').allInnerTexts();
  assert.equal(recoveryCodes.length, 10);
  await lookAt(page, 'second-factor-recovery-codes');
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download', exact: true }).click(),
  ]);
  assert.equal(download.suggestedFilename(), `recovery-codes-${administrator.name}.txt`);
  const kept = readFileSync(await download.path(), 'utf8');
  for (const one of recoveryCodes) assert.ok(kept.includes(one));
  // On paper there is nothing but them.
  await page.emulateMedia({ media: 'print' });
  assert.equal(await page.getByRole('navigation', { name: 'Pages' }).isVisible(), false);
  assert.equal(await list.isVisible(), true);
  await page.emulateMedia({ media: 'screen' });
  await page.getByRole('button', { name: 'I have kept them' }).click();
  await page.getByText('10 recovery codes are left.').waitFor();
  await page.getByRole('row').filter({ hasText: 'phone' }).waitFor();
  await lookAt(page, 'second-factor');
});

test('signing in asks for the code after the password, and says what is wrong with one', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in');
  expect(/status of 401/);
  later();
  await signInAs(page, administrator.name, administrator.password);
  await page.getByText(`The password of ${administrator.name} is right.`).waitFor();
  await lookAt(page, 'sign-in-code');
  await giveCode(page, '000000');
  await page.getByText('The code is wrong.').waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await signInAs(page, administrator.name, administrator.password);
  await giveCode(page, code(secret));
  await page.getByRole('navigation', { name: 'Pages' }).waitFor({ state: 'attached' });

  // What asks for the password again takes a code as well.
  await page.goto(`${stack.url}/profile`);
  await page.getByRole('button', { name: 'Make new recovery codes' }).click();
  inState('UPDATE sessions SET confirmed_at = 0');
  later();
  const dialog = passwordDialog(page);
  await page.removeLocatorHandler(dialog);
  expect(/status of 403/);
  await page.getByRole('button', { name: 'Make new ones' }).click();
  await dialog.getByRole('button', { name: 'Give a code of the app instead' }).click();
  const byCode = page.getByRole('dialog', { name: 'Give a code of your app' });
  await byCode.getByLabel('Code of the app').fill(code(secret));
  await lookAt(page, 'code-again');
  await byCode.getByRole('button', { name: 'Confirm' }).click();
  const list = page.getByRole('list', { name: 'Recovery codes' });
  await list.waitFor();
  const before_ = recoveryCodes;
  recoveryCodes = await list.getByRole('listitem').allInnerTexts();
  assert.ok(recoveryCodes.every((one) => !before_.includes(one)));
});

test('the page of supportd asks for a code, too; a recovery code given there is gone here', async (t) => {
  const { page, expect } = await someone.visit(t, '/support/');
  expect(/status of 401/);
  const given = recoveryCodes[0] as string;
  await page.getByRole('textbox', { name: 'Name' }).fill(administrator.name);
  await page.getByLabel('Password').fill(administrator.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('The password is right; a code is needed, too.').waitFor();
  await lookAt(page, 'support-code');
  const field = page.getByLabel('Code of your authenticator app, or a recovery code');
  await field.fill('000000');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('The code is wrong.').waitFor();
  await field.fill(given);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText(`Signed in as ${administrator.name}.`).waitFor();

  await page.goto(`${stack.url}/sign-in`);
  await signInAs(page, administrator.name, administrator.password);
  await giveCode(page, given);
  await page.getByText('This code was used before.').waitFor();
  await giveCode(page, recoveryCodes[1] as string);
  await page.getByRole('navigation', { name: 'Pages' }).waitFor({ state: 'attached' });
  await page.goto(`${stack.url}/profile`);
  await page.getByText('8 recovery codes are left.').waitFor();
});

test('administrators need one from a day on; who has none can only add one; somebody else’s is cleared', async (t) => {
  const { page, expect: expectHere } = await someone.visit(t, '/sign-in?to=%2Fsettings');
  expectHere(/status of 401/);
  await signInAs(page, administrator.name, administrator.password);
  await giveCode(page, recoveryCodes[2] as string);
  await page.getByRole('button', { name: 'New user' }).click();
  const form = page.getByRole('form', { name: 'Add the user' });
  await form.getByLabel(exactly('Name')).fill('eve');
  await form.getByLabel('Role').selectOption('administrator');
  await form.getByRole('button', { name: 'Add the user' }).click();
  const oneTime = await page.getByRole('textbox', { name: 'One-time password' }).inputValue();
  await page.goto(`${stack.url}/settings/sessions`);
  await page.getByText('Still without one: eve.').waitFor();
  await page.getByRole('checkbox', { name: 'Administrators need a second factor' }).check();
  await page.getByLabel(exactly('From')).fill('2026-01-01');
  await page.getByRole('region', { name: 'Second factor' }).getByRole('button', { name: 'Save' }).click();
  await page
    .getByRole('region', { name: 'Second factor' })
    .getByRole('button', { name: 'Save', disabled: true })
    .waitFor();
  await lookAt(page, 'second-factor-policy');

  const { page: hers, expect } = await someone.visit(t, '/sign-in');
  expect(/status of 40[13]/);
  await signInAs(hers, 'eve', oneTime);
  await hers.getByLabel(exactly('The one-time password')).fill(oneTime);
  await hers.getByLabel(exactly('New password')).fill(OWN);
  await hers.getByLabel(exactly('New password again')).fill(OWN);
  await hers.getByRole('button', { name: 'Change the password' }).click();
  await hers.getByRole('heading', { name: 'Add a second factor, eve' }).waitFor();
  const key = await addApp(hers, 'tablet');
  await lookAt(hers, 'second-factor-needed');
  await hers.getByLabel(exactly('Code')).fill(code(key));
  await hers.getByRole('button', { name: 'Add the app' }).click();
  await hers.getByRole('button', { name: 'I have kept them' }).click();
  await hers.getByRole('navigation', { name: 'Pages' }).waitFor({ state: 'attached' });

  await page.goto(`${stack.url}/settings/users`);
  const row = page.getByRole('row').filter({ hasText: 'eve' });
  await row.getByText('yes', { exact: true }).waitFor();
  await row.getByRole('link', { name: 'eve' }).click();
  await page.getByRole('button', { name: 'Clear' }).click();
  await lookAt(page, 'second-factor-clear');
  await page.getByRole('dialog').getByRole('button', { name: 'Clear' }).click();
  await page.getByText('None: the password is enough.').waitFor();
  await hers.goto(`${stack.url}/status`);
  await signInAs(hers, 'eve', OWN);
  await hers.getByRole('heading', { name: 'Add a second factor, eve' }).waitFor();
});
