// A whole daemon as a process of its own: flags, file, log, readiness, diagnostics, the stop, and what nobody caught.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Program, parseFlags, UsageError } from './flags.ts';

const MODULE = new URL('./daemon.ts', import.meta.url).href;
/** Answers on its socket; /late throws where nobody catches, /hang keeps it from stopping. */
const PROGRAM = `
import http from 'node:http';
import { runDaemon } from ${JSON.stringify(MODULE)};
await runDaemon({
  name: 'exampled', version: '1.2.3', about: 'exampled answers with a greeting.',
  flags: { greeting: { argument: 'TEXT', help: 'what it says', usual: 'hello', variable: 'EXAMPLED_GREETING' } },
  socket: () => '/nonexistent/http.sock',
  setup: async ({ values, socket }, log) => {
    if (values.get('greeting') === 'nothing') throw new Error('no greeting');
    const server = http.createServer((request, response) => {
      if (request.url === '/late') setTimeout(() => { throw new TypeError('x is not a function'); }, 1);
      if (request.url === '/rejected') void Promise.reject('a word');
      response.end(values.get('greeting'));
    });
    await new Promise((done) => server.listen(socket, done));
    return { stop: () => new Promise((done) => { log.debug('stopped'); server.close(done); server.closeAllConnections(); }) };
  },
});
`;

function folder(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), 'daemon-'));
  t.after(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

function launch(t: TestContext, args: readonly string[], env: Record<string, string> = {}) {
  const { JOURNAL_STREAM: _, NOTIFY_SOCKET: __, ...inherited } = process.env;
  const program = join(folder(t), 'exampled.mjs');
  writeFileSync(program, PROGRAM);
  const child = spawn(process.execPath, [program, ...args], {
    env: { ...inherited, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => child.kill('SIGKILL'));
  let out = '';
  let log = '';
  child.stdout.on('data', (text) => {
    out += text;
  });
  child.stderr.on('data', (text) => {
    log += text;
  });
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, out, log }));
  return { child, ended, log: () => log };
}

async function until<T>(what: () => T | undefined | false): Promise<T> {
  for (let n = 0; n < 500; n++) {
    const found = what();
    if (found) return found;
    await new Promise((done) => setTimeout(done, 20));
  }
  throw new Error(`never: ${what}`);
}

function get(socketPath: string, path: string): Promise<string> {
  return new Promise((done, failed) => {
    http
      .get({ socketPath, path, agent: false }, (response) => {
        let text = '';
        response.on('data', (part) => {
          text += part;
        });
        response.on('end', () => done(text));
      })
      .on('error', failed);
  });
}

test('it answers, tells the service manager, shows what it is doing, and stops in order', async (t) => {
  const dir = folder(t);
  const socket = join(dir, 'run', 'http.sock');
  // In place of systemd's, which sends a datagram.
  writeFileSync(join(dir, 'systemd-notify'), `#!/bin/sh\necho "$@" >>"${dir}/notified"\n`);
  chmodSync(join(dir, 'systemd-notify'), 0o755);
  const notified = () => (existsSync(join(dir, 'notified')) ? readFileSync(join(dir, 'notified'), 'utf8') : '');
  const running = launch(t, ['--socket', socket, '--greeting', 'good day', '--log-level', 'debug'], {
    PATH: `${dir}:${process.env.PATH}`,
    NOTIFY_SOCKET: join(dir, 'notify'),
    WATCHDOG_USEC: '200000',
  });
  await until(() => running.log().includes(`level=INFO msg=ready version=1.2.3 listens=${socket}\n`));
  assert.equal(await get(socket, '/'), 'good day');
  const debug = join(dir, 'run', 'debug.sock');
  assert.equal(statSync(debug).mode & 0o777, 0o600);
  assert.match(await get(debug, '/metrics'), /^cistern_process_heap_bytes\{service="exampled"\} \d+$/m);
  assert.ok(JSON.parse(await get(debug, '/memory')).heapBytes > 1e6);
  assert.ok(JSON.parse(await get(debug, '/report')).javascriptStack !== undefined);
  assert.ok(JSON.parse(await get(debug, '/profile?seconds=0.05')).nodes.length > 0);
  assert.match(await get(debug, '/'), /There is \/metrics/);
  await until(() => /^READY=1\nWATCHDOG=1\nWATCHDOG=1\n/.test(notified()));

  const second = await launch(t, ['--socket', socket]).ended;
  assert.equal(second.code, 1);
  assert.match(second.log, /msg="exampled ends" error="Error: another process answers on /);

  running.child.kill('SIGTERM');
  const { code, log } = await running.ended;
  assert.equal(code, 0, log);
  assert.match(log, /msg="exampled is stopping" signal=SIGTERM\n.*level=DEBUG msg=stopped\n/);
  await until(() => notified().includes('STOPPING=1\n'));
});

for (const [path, reason] of [
  ['/late', 'TypeError: x is not a function'],
  ['/rejected', 'Error: a word'],
] as const) {
  test(`what nobody caught ends it, with a trace that becomes a crash record: ${reason}`, async (t) => {
    const socket = join(folder(t), 'http.sock');
    const running = launch(t, ['--socket', socket]);
    await until(() => running.log().includes('msg=ready'));
    await get(socket, path).catch(() => {});
    const { code, log } = await running.ended;
    assert.equal(code, 1);
    assert.match(log, /level=ERROR msg="exampled ends because of an error that nobody handled" error=/);
    // As supportd reads it (services/support/crash): the error's class begins a line, and the frames follow.
    assert.ok(log.includes(`\n${reason}\n    at `), log);
  });
}

test('flags, file and environment, in this order', async (t) => {
  const dir = folder(t);
  const file = (text: string) => {
    const path = join(mkdtempSync(join(dir, 'f-')), 'x.toml');
    writeFileSync(path, text);
    return path;
  };
  const refused = await launch(t, ['--nonsense']).ended;
  assert.equal(refused.code, 2, refused.log);
  assert.match(
    refused.log,
    /level=ERROR msg="exampled cannot start" error="Unknown option '--nonsense'.*see exampled --help"/,
  );
  const greeting = { argument: 'TEXT', help: '', usual: '', variable: 'EXAMPLED_GREETING' };
  const own: Program = { name: 'exampled', version: '1', about: '', flags: { greeting }, socket: () => '' };
  const cases: [args: string[], want: RegExp][] = [
    [['extra'], /Unexpected argument 'extra'/],
    [['--log-level', 'loud'], /--log-level=loud must be one of error, warn, info, debug/],
    [['--log-format', 'xml'], /--log-format=xml must be one of text, json/],
    [['--config', '/no/such'], /the configuration file \/no\/such does not exist/],
    [
      ['--config', file("greeting = 'x'\ngreating = 2")],
      /x\.toml, line 2: there is no setting greating; see exampled --help/,
    ],
    [['--config', file("\nlog_level = 'loud'")], /x\.toml, line 2: log_level: must be one of/],
    [['--config', file("config = '/x'")], /line 1: there is no setting config/],
    [['--config', file('[greeting]')], /line 1: this is not KEY = VALUE/],
    [['--config', file('greeting = [1]')], /line 1: greeting: a text in quotes, a number, true or false is needed/],
    [['--config', file("greeting = 'a'\ngreeting = 'b'")], /line 2: greeting is set twice/],
  ];
  for (const [args, want] of cases) {
    assert.throws(
      () => parseFlags(own, args, {}),
      (error: unknown) => error instanceof UsageError && want.test(error.message),
    );
  }
  const says = async (args: string[], env: Record<string, string> = {}) => {
    const socket = join(mkdtempSync(join(dir, 's-')), 'http.sock');
    const running = launch(t, [...args, '--socket', socket], env);
    await until(() => running.log().includes('ready'));
    const text = await get(socket, '/');
    running.child.kill('SIGINT');
    const { code, log } = await running.ended;
    assert.equal(code, 0);
    return { text, log };
  };
  const env = { EXAMPLED_GREETING: 'environment' };
  const settings = file('# a comment\ngreeting = "file \\"1\\"" # behind it\nlog_format = \'json\'\n');
  assert.equal((await says([])).text, 'hello');
  assert.equal((await says([], env)).text, 'environment');
  const fromFile = await says(['--config', settings], env);
  assert.equal(fromFile.text, 'file "1"');
  assert.equal(JSON.parse(fromFile.log.split('\n')[0] as string).msg, 'ready');
  assert.equal((await says(['--config', settings, '--greeting', 'flag'], env)).text, 'flag');

  const failed = await launch(t, ['--socket', join(dir, 'http.sock'), '--greeting', 'nothing']).ended;
  assert.equal(failed.code, 1);
  assert.match(failed.log, /msg="exampled ends" error="Error: no greeting/);
  const help = await launch(t, ['--help']).ended;
  assert.equal(help.code, 0);
  for (const line of [
    /^exampled answers with a greeting\./,
    /--config FILE +settings in TOML/,
    /--socket PATH/,
    /--log-level LEVEL/,
    /--log-format FORMAT/,
    /--version/,
    /--greeting TEXT +what it says; hello \(EXAMPLED_GREETING\)/,
  ]) {
    assert.match(help.out, line);
  }
  assert.equal((await launch(t, ['--version']).ended).out, '1.2.3\n');
});
