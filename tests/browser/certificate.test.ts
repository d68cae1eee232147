// The certificate of the page, as an administrator replaces it; nginx, and execd's own checks, are real.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { connect } from 'node:tls';
import { signed } from '../../appliance-kit/tests/certificates.ts';
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

/** The SHA-256 of the certificate that a new connection is shown. */
function shown(): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect(
    { host: '127.0.0.1', port: Number(new URL(stack.url).port), servername: 'localhost', rejectUnauthorized: false },
    () => {
      resolve(socket.getPeerCertificate().fingerprint256);
      socket.destroy();
    },
  );
  socket.on('error', reject);
  return promise;
}

test('a certificate is checked, installed and put back', async (t) => {
  const { page, expect } = await someone.visit(t, '/sign-in?to=%2Fsettings%2Fcertificate');
  await signInBy(page);
  const first = new X509Certificate(readFileSync(path.join(stack.dir, 'tls/cert.pem'))).fingerprint256;
  assert.equal(await shown(), first);
  const now = page.getByRole('region', { name: 'In use' });
  await now.getByText(first).waitFor();
  await lookAt(page, 'settings-certificate');

  // What is wrong is said at its field.
  const other = signed(['DNS:other.example']);
  const form = page.getByRole('form', { name: 'Certificate to install' });
  await form.getByLabel('Certificate', { exact: true }).fill(other.certificate);
  await form.getByLabel('Private key', { exact: true }).fill(signed(['DNS:other.example']).key);
  expect(/status of 400/);
  await form.getByRole('button', { name: 'Check it' }).click();
  await form.getByText('The private key does not belong to the certificate for receiver.').waitFor();

  // What may be meant so has to be accepted.
  await form.getByLabel('Private key', { exact: true }).fill(other.key);
  await form.getByRole('button', { name: 'Check it' }).click();
  const preview = page.getByRole('form', { name: 'What would be installed' });
  await preview.getByText('Nothing here vouches for “Example CA”').waitFor();
  await preview.getByText('The page is open as localhost, and the certificate is for other.example').waitFor();
  await lookAt(page, 'settings-certificate-warnings');
  await preview.getByLabel('It may be so: chain').check();
  await preview.getByLabel('It may be so: name').check();
  await preview.getByRole('button', { name: 'Install it' }).click();
  await page.getByText('The web page answers with it.').waitFor();
  const installed = new X509Certificate(other.certificate).fingerprint256;
  await now.getByText(installed).waitFor();
  assert.equal(await shown(), installed);
  assert.equal(await form.getByLabel('Private key', { exact: true }).inputValue(), '');

  await page.getByRole('button', { name: 'Put it back' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Put it back' }).click();
  await now.getByText(first).waitFor();
  assert.equal(await shown(), first);

  // A request, whose key stays.
  await page.getByRole('button', { name: 'Make a signing request' }).click();
  const asked = page.getByRole('form', { name: 'Signing request' });
  await asked.getByLabel('Names and addresses').fill('cistern.example 192.0.2.7');
  await asked.getByRole('button', { name: 'Make the request' }).click();
  const link = page.getByRole('link', { name: 'Download the request' });
  const href = (await link.getAttribute('href')) ?? '';
  assert.match(decodeURIComponent(href), /^data:.*,-----BEGIN CERTIFICATE REQUEST-----\n/);
  assert.doesNotMatch(decodeURIComponent(href), /PRIVATE/);
});
