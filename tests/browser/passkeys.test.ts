// Passkeys, as somebody with a finger on a sensor uses them: the authenticator is Chromium's virtual one.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { connect } from 'node:tls';
import type { CDPSession, Page } from 'playwright-core';
import { administrator, setUp } from '../stack/api.ts';
import { binaries } from '../stack/build.ts';
import type { Stack } from '../stack/stack.ts';
import { exactly, lookAt, type Person, passwordDialog, person, signInBy, withStack } from './browser.ts';

const OWN = 'violet tractor umbrella';

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

type Credential = {
  credentialId: string;
  isResidentCredential: boolean;
  rpId?: string;
  privateKey: string;
  signCount: number;
};

/** What is kept in the authenticator from page to page. */
let kept: Credential[] = [];

/** Plugs it in. `verified`: whether the finger is the right one. */
async function plugIn(
  page: Page,
  verified = true,
): Promise<{ keep(): Promise<void>; session: CDPSession; id: string }> {
  const session = await page.context().newCDPSession(page);
  await session.send('WebAuthn.enable', { enableUI: false });
  const { authenticatorId: id } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      ...{ protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true },
      ...{ isUserVerified: verified, automaticPresenceSimulation: true },
    },
  });
  for (const credential of kept) await session.send('WebAuthn.addCredential', { authenticatorId: id, credential });
  return {
    session,
    id,
    keep: async () => {
      kept = (await session.send('WebAuthn.getCredentials', { authenticatorId: id })).credentials as Credential[];
    },
  };
}

function inState(sql: string): void {
  const db = new DatabaseSync(path.join(stack.dir, 'akd/state.db'));
  db.exec(`PRAGMA busy_timeout = 5000; ${sql}`);
  db.close();
}

let fingerprint = '';

async function shown(url: string): Promise<string> {
  const socket = connect({ host: 'localhost', port: Number(new URL(url).port), rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { fingerprint256 } = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256;
}

/** Waits until the program has said it. */
async function saidBy(said: { err: string }, what: RegExp): Promise<RegExpExecArray> {
  for (const until = Date.now() + 30_000; Date.now() < until; await setTimeout(50)) {
    const found = what.exec(said.err);
    if (found !== null) return found;
  }
  throw new Error(`it has not said ${what}: ${said.err}`);
}

test('under an address the page says why there is none', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in');
  expect(/request to https:\/\/127\.0\.0\.1/);
  const at = new URL(stack.url);
  at.hostname = '127.0.0.1';
  await page.goto(`${at.origin}/sign-in?to=%2Fprofile`);
  assert.equal(await page.getByRole('button', { name: 'Use a passkey' }).count(), 0);
  await signInBy(page);
  await page.getByText('this page is open under the address 127.0.0.1', { exact: false }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Add a passkey' }).isDisabled(), true);
});

test('a passkey is added in the profile, and confirms what asks for the password', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Fprofile');
  const key = await plugIn(page);
  await signInBy(page);
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByLabel('What you call it').fill('laptop');
  await lookAt(page, 'passkey-add');
  await page.getByRole('button', { name: 'Add the passkey' }).click();
  await page.getByRole('list', { name: 'Recovery codes' }).waitFor();
  await page.getByRole('button', { name: 'I have kept them' }).click();
  await page.getByRole('row').filter({ hasText: 'Passkey for localhost' }).waitFor();
  await lookAt(page, 'passkey');

  await page.getByRole('button', { name: 'Make new recovery codes' }).click();
  inState('UPDATE sessions SET confirmed_at = 0');
  const dialog = passwordDialog(page);
  await page.removeLocatorHandler(dialog);
  expect(/status of 403/);
  await page.getByRole('button', { name: 'Make new ones' }).click();
  await dialog.getByRole('button', { name: 'Give the passkey instead' }).click();
  const byPasskey = page.getByRole('dialog', { name: 'Give your passkey' });
  await lookAt(page, 'passkey-again');
  await byPasskey.getByRole('button', { name: 'Confirm' }).click();
  await page.getByRole('list', { name: 'Recovery codes' }).waitFor();
  await key.keep();
  assert.equal(kept.length, 1);
});

test('the list says of a passkey for another name that it does not work here', async (t) => {
  inState(
    `INSERT INTO passkeys (id, user, name, host, credential_id, public_key, counter, transports_json, created_at)
     VALUES ('old', '${administrator.name}', 'old phone', 'before.example.org', 'old', '', 0, '[]', 1)`,
  );
  try {
    const { page } = await someone.visit(t, '/sign-in?to=%2Fprofile');
    const key = await plugIn(page);
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    const row = page.getByRole('row').filter({ hasText: 'old phone' });
    await row.getByText('Passkey for before.example.org alone: it does not work under localhost').waitFor();
    await page.getByText('Passkey for localhost', { exact: true }).waitFor();
    await lookAt(page, 'passkeys-of-other-names');
    await key.keep();
  } finally {
    inState("DELETE FROM passkeys WHERE id = 'old'");
  }
});

test('it signs in without a password; a finger that is not known does not', async (t) => {
  const { page } = await someone.visit(t, '/sign-in?to=%2Fprofile');
  const key = await plugIn(page, false);
  await page.getByRole('button', { name: 'Use a passkey' }).click();
  await page.getByText('No passkey was given', { exact: false }).waitFor();
  await lookAt(page, 'sign-in-passkey');
  await key.session.send('WebAuthn.setUserVerified', { authenticatorId: key.id, isUserVerified: true });
  await page.getByRole('button', { name: 'Use a passkey' }).click();
  await page.getByRole('heading', { name: administrator.name, exact: true }).waitFor();

  // The password is changed with it, and no code is asked for.
  await page.getByRole('button', { name: 'Change the password' }).click();
  await page.getByText('The browser asks for your passkey, unless you enter a code.').waitFor();
  await page.getByLabel(exactly('Your present password')).fill(administrator.password);
  await page.getByLabel(exactly('New password')).fill(OWN);
  await page.getByLabel(exactly('New password again')).fill(OWN);
  await lookAt(page, 'passkey-password');
  await page.getByRole('button', { name: 'Change the password' }).click();
  await page.getByText('The password was changed.', { exact: false }).waitFor();
  await key.keep();
});

/** The program at somebody's terminal, with a home of its own. */
function cistern(home: string, ...args: string[]) {
  const url = ['--url', stack.url, '--fingerprint', fingerprint];
  const env = { PATH: process.env.PATH ?? '', HOME: home };
  const program = spawn(path.join(binaries, 'cistern'), [...args, ...url], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { out: '', err: '' };
  program.stdout.on('data', (text) => {
    said.out += text;
  });
  program.stderr.on('data', (text) => {
    said.err += text;
  });
  const ended = once(program, 'close').then(([status]) => ({ status: status as number, ...said }));
  return { said, ended, program };
}

test('a program is signed in by a link, as whoever approves it', async (t) => {
  const home = mkdtempSync(path.join(tmpdir(), 'cistern-home-'));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const { page, expect } = await someone.visit(t, '/sign-in');
  fingerprint = await shown(stack.url);
  const waiting = cistern(home, 'sign-in', '--browser');
  t.after(() => waiting.program.kill());
  const [, link, code] = await saidBy(waiting.said, /Open (\S+) in a browser, and compare the code: (\S+)/);
  const key = await plugIn(page);
  await page.goto(link as string);
  await page.getByRole('button', { name: 'Use a passkey' }).click();
  await page.getByRole('heading', { name: 'Sign in a program' }).waitFor();
  await key.keep();
  await page.getByText(code as string, { exact: true }).waitFor();
  await lookAt(page, 'sign-in-request');
  await page.getByRole('button', { name: 'Sign it in' }).click();
  await page.getByText(`Signed in as ${administrator.name}.`, { exact: false }).waitFor();
  const signedIn = await waiting.ended;
  assert.equal(signedIn.status, 0, signedIn.err);
  const asked = await cistern(home, 'sessions', '--json').ended;
  assert.equal(asked.status, 0, asked.err);
  const own = JSON.parse(asked.out).items.find((one: { own: boolean }) => one.own);
  assert.deepEqual([own.user, own.browser], [administrator.name, 'cistern']);

  const refused = cistern(home, 'sign-in', '--browser');
  t.after(() => refused.program.kill());
  const [, , other] = await saidBy(refused.said, /Open (\S+) in a browser, and compare the code: (\S+)/);
  await page.goto(`${stack.url}/sign-in-request`);
  await page.getByLabel(exactly('Code')).fill('QQQQ-QQQQ');
  expect(/status of 404/);
  await page.getByRole('button', { name: 'Go on' }).click();
  await page.getByText('No program waits under this code.').waitFor();
  await page.getByRole('button', { name: 'Enter another code' }).click();
  await page.getByLabel(exactly('Code')).fill((other as string).toLowerCase());
  await page.getByRole('button', { name: 'Go on' }).click();
  await page.getByRole('button', { name: 'Refuse' }).click();
  await page.getByText('Nobody was signed in.', { exact: false }).waitFor();
  const end = await refused.ended;
  assert.equal(end.status, 1);
  assert.match(end.err, /refused in the browser/);
});

test('removed, it signs nobody in any more', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Fprofile');
  const key = await plugIn(page);
  await page.getByRole('button', { name: 'Use a passkey' }).click();
  await page.getByRole('button', { name: 'Remove laptop' }).click();
  await page.getByRole('button', { name: 'Remove the passkey' }).click();
  await page.getByText('None. With an authenticator app', { exact: false }).waitFor();
  await key.keep();
  await page.context().clearCookies();
  expect(/status of 401/);
  await page.goto(`${stack.url}/sign-in`);
  await page.getByRole('button', { name: 'Use a passkey' }).click();
  await page.getByText('This appliance does not know the passkey.', { exact: false }).waitFor();
});
