// Every route of the management API, fed by Schemathesis with what its description allows and does not allow, as a stranger
// and with a token of each role: no answer is a 500, and none is one that the description does not have.
// `./build.sh nightly --only access` runs it. CISTERN_FUZZ_SECONDS: how long for each role; CISTERN_FUZZ_SEED repeats a run.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { type Person, setUp } from '../stack/api.ts';
import { root } from '../stack/build.ts';
import type { Stack } from '../stack/stack.ts';
import { withStack } from './browser.ts';

const SECONDS = Number(process.env.CISTERN_FUZZ_SECONDS ?? 120);
const SEED = process.env.CISTERN_FUZZ_SEED ?? String(Math.trunc(Math.random() * 1e9));

/** Streams that go on for as long as somebody listens. */
const STREAMS = '/(events|live)$';

/** Made by `./build.sh prepare schemathesis`. */
const SCHEMATHESIS = path.join(root, 'out/schemathesis');
/** What a part says that needs another one, or another machine. A 500 is never right. */
const CONFIG = `[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", "502", "503", "504", "507"]
`;

let stack: Stack;
let api: Person;
let folder: string;
before(async () => {
  // It makes up host names and addresses that the appliance then connects to.
  const names = Object.keys(networkInterfaces()).join();
  assert.equal(names, 'lo', 'this runs in a network namespace of its own');
  folder = mkdtempSync(path.join(tmpdir(), 'openapi-'));
  stack = await withStack({ tracerd: { historySeconds: 60 } });
  api = await setUp(stack);
  writeFileSync(path.join(folder, 'openapi.json'), JSON.stringify(await api.get('GET', '/api/openapi.json')));
  writeFileSync(path.join(folder, 'schemathesis.toml'), CONFIG);
});
after(async () => {
  await stack?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** What a part wrote last: of a connection that was cut only nginx may know why. */
const lastOf = (part: string) =>
  readFileSync(stack.logFile, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith(part))
    .slice(-50)
    .join('\n');

for (const role of ['nobody', 'writer', 'viewer', 'operator', 'administrator'] as const) {
  test(`as ${role} (seed ${SEED})`, async () => {
    const headers: string[] = [];
    if (role !== 'nobody') {
      const { token } = await api.get<{ token: string }>('POST', '/api/tokens', { name: `fuzz-${role}`, role });
      headers.push('--header', `Authorization: Bearer ${token}`);
    }
    const checks = 'not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance';
    // One worker: Python 3.11 ends threads that parse at the same time with a SystemError.
    const child = spawn(
      'python3',
      [
        ...[path.join(SCHEMATHESIS, 'bin/schemathesis'), '--config-file', path.join(folder, 'schemathesis.toml')],
        ...['run', path.join(folder, 'openapi.json'), '--url', stack.url, '--tls-verify', 'false', '--no-color'],
        ...['--checks', checks, '--phases', 'coverage,fuzzing', '--max-time', String(SECONDS), '--seed', SEED],
        ...['--exclude-path-regex', STREAMS, '--request-timeout', '100', '--workers', '1', '--warnings', 'off'],
        // The token's secret is the test's own; the list of what failed is what is wanted.
        ...['--continue-on-failure', '--no-shrink', '--generation-database', 'none', ...headers],
      ],
      { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, PYTHONPATH: SCHEMATHESIS } },
    );
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk));
    const [code] = (await once(child, 'close')) as [number | null];
    assert.equal(code, 0, `${said.slice(-60_000)}\nnginx:\n${lastOf('nginx')}`);
    assert.match(said, /Tested|generated/i, said.slice(-2000));
    // Whoever is an administrator may have ended the session.
    const session = await api.get<{ user: unknown }>('GET', '/api/session');
    assert.ok('user' in session, 'akd still answers');
  });
}
