// The command line as the appliance hands it out: the lines of the page, run by a shell, lead to a signed-in command.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { administrator, setUp } from '../stack/api.ts';
import { ask } from '../stack/http.ts';
import type { Stack } from '../stack/stack.ts';
import { lookAt, type Person, person, signInBy, withStack } from './browser.ts';

let stack: Stack;
let someone: Person;
const home = mkdtempSync(path.join(tmpdir(), 'cistern-home-'));
before(async () => {
  stack = await withStack();
  await setUp(stack);
  someone = await person(stack);
});
after(async () => {
  await someone?.close();
  await stack?.stop();
  rmSync(home, { recursive: true, force: true });
});

const shell = (script: string, input = '') =>
  spawnSync('bash', ['-ec', script], { input, env: { PATH: '/usr/bin:/bin', HOME: home }, encoding: 'utf8' });

test('the pasted lines download, compare, install and sign in; a wrong sum installs nothing', async (t) => {
  const { page } = await someone.visit(t, '/profile');
  await signInBy(page);
  await page.getByRole('link', { name: 'Download the command cistern' }).click();
  await page.getByText('sign-in --url').waitFor();
  await lookAt(page, 'command-line');
  const lines = (await page.locator('.cistern-exchange pre').textContent()) ?? '';
  assert.match(lines, /cistern-linux-amd64/, 'the visitor’s system comes first');
  const fingerprint = new X509Certificate(readFileSync(path.join(stack.dir, 'tls/cert.pem'))).fingerprint256;

  const wrong = shell(lines.replace(/[0-9a-f]{64}/, '0'.repeat(64)));
  assert.notEqual(wrong.status, 0);
  assert.equal(shell('test -e ~/.local/bin/cistern').status, 1, 'a wrong sum installs nothing');

  const pasted = shell(lines.replace('FINGERPRINT', fingerprint), `${administrator.name}\n${administrator.password}\n`);
  assert.equal(pasted.status, 0, pasted.stderr);
  assert.match(pasted.stderr, /Signed in as admin/);
  const pools = shell('~/.local/bin/cistern pools list --output json');
  assert.equal(pools.status, 0, pools.stderr);
  assert.ok(Array.isArray(JSON.parse(pools.stdout).items));
});

test('programs and sums are there without a sign-in, and nothing else is', async () => {
  const get = (file: string) => ask(new URL(`/command-line/${file}`, stack.url), {});
  const list = JSON.parse((await get('list.json')).text) as { programs: { file: string; sha256: string }[] };
  const sums = (await get('SHA256SUMS')).text;
  assert.equal(sums, list.programs.map(({ file, sha256 }) => `${sha256}  ${file}\n`).join(''));
  assert.equal((await get('cistern-plan9-amd64.tar.xz')).status, 404);
  assert.equal((await get('')).status, 404);
});
