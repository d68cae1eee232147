// The examples of docs/manual/sending-metrics.md that send histograms, each as it stands there, against a real storaged.
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { program } from './cistern.ts';
import { eventually } from './harness.ts';

const run = promisify(execFile);
const manual = readFileSync(path.join(import.meta.dirname, '../../docs/manual/sending-metrics.md'), 'utf8');

let storaged: ChildProcess;
let folder: string;
let url: URL;
let statsd = 0;
let said = '';

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

before(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'send-histograms-'));
  url = new URL(`http://127.0.0.1:${await freePort()}`);
  statsd = await freePort();
  const places = ['--http', url.host, '--statsd', `127.0.0.1:${statsd}`];
  storaged = spawn(program('storaged'), ['--data', path.join(folder, 'data'), ...places], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  storaged.stderr?.on('data', (chunk) => {
    said += chunk;
  });
  await eventually(async () => {
    assert.equal(storaged.exitCode, null, said);
    assert.ok((await fetch(new URL('/healthz', url)).catch(() => null))?.ok);
  });
});

after(async () => {
  if (storaged.exitCode === null) {
    const ended = once(storaged, 'exit');
    storaged.kill('SIGTERM');
    await ended;
  }
  rmSync(folder, { recursive: true, force: true });
});

// Each tool is installed by the test run (test_tools in build.sh); one that is missing fails its test.
for (const { language, file, start } of [
  { language: 'go', file: 'main.go', start: (at: string) => [['go', 'run', at]] },
  { language: 'js', file: 'main.mjs', start: (at: string) => [[process.execPath, at]] },
  { language: 'python', file: 'main.py', start: (at: string) => [['python3', at]] },
  { language: 'java', file: 'Example.java', start: (at: string) => [['java', at]] },
  {
    language: 'c',
    file: 'main.c',
    start: (at: string) => [
      ['cc', '-Wall', '-Werror', '-o', `${at}.out`, at],
      [`${at}.out`, '127.0.0.1', String(statsd)],
    ],
  },
]) {
  test(`the example in ${language} sends a histogram`, async () => {
    const found = new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``).exec(manual)?.[1];
    assert.ok(found !== undefined, `the manual has no example in ${language}`);
    assert.ok(found.split('\n').filter((line) => line.trim() !== '').length <= 20, 'it is not short any more');
    const at = path.join(folder, file);
    writeFileSync(at, found);
    for (const [command, ...values] of start(at)) {
      await run(command as string, values, { env: { ...process.env, CISTERN: url.origin, TOKEN: 'any' }, cwd: folder });
    }
    await eventually(async () => {
      const query = `histogram_count({"example.${language}"}) == 3 and histogram_quantile(1, {"example.${language}"}) > 0.4`;
      const answer = await fetch(new URL(`/api/v1/query?query=${encodeURIComponent(query)}`, url));
      const { data } = (await answer.json()) as { data: { result: unknown[] } };
      assert.equal(data.result.length, 1, query);
    });
  });
}
