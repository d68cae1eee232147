// akd as the process it is, with the real telemetry store, journal and support daemon beside it: from a sample to a
// mail and a trap, through a kill without warning.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { program } from './cistern.ts';
import { CODE, eventually, PASSWORD } from './harness.ts';
import { smtp } from './smtp.ts';
import { snmptrapd } from './snmptrapd.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

interface Running {
  readonly child: ChildProcess;
  log(): string;
  end(signal: NodeJS.Signals): Promise<number>;
}

function launch(t: TestContext, command: string, args: string[], env: Record<string, string> = {}): Running {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      printed += chunk;
    });
  }
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const end = async (signal: NodeJS.Signals) => {
    const began = Date.now();
    if (child.exitCode === null && child.signalCode === null) {
      child.kill(signal);
      await ended;
    }
    return Date.now() - began;
  };
  t.after(() => end('SIGKILL'));
  return { child, log: () => printed, end };
}

interface Place {
  readonly directory: string;
  readonly run: string;
  readonly env: Record<string, string>;
}

function place(t: TestContext): Place {
  const directory = mkdtempSync(join(tmpdir(), 'akd-whole-'));
  t.after(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));
  const run = join(directory, 'run');
  for (const name of ['akd', 'storaged', 'supportd']) mkdirSync(join(run, name), { recursive: true });
  writeFileSync(join(directory, 'code'), CODE);
  const env = {
    CISTERN_RUN: run,
    CISTERN_STATE: join(directory, 'akd'),
    CISTERN_SETUP_CODE_FILE: join(directory, 'code'),
    CISTERN_PLATFORM: 'sim',
    CISTERN_BIN: program('cistern'),
    CISTERN_EVALUATE_SECONDS: '0.3',
    CISTERN_POLL_SECONDS: '0.5',
  };
  return { directory, run, env };
}

const socketOf = ({ run }: Place, name: string) => join(run, name, 'http.sock');

async function akd(t: TestContext, where: Place): Promise<Running> {
  const running = launch(t, process.execPath, ['--disable-warning=ExperimentalWarning', MAIN], where.env);
  await eventually(() => {
    assert.equal(running.child.exitCode, null, running.log());
    assert.match(running.log(), /msg=ready /);
  }, 60_000);
  return running;
}

interface Answer {
  readonly status: number;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into answers freely
  readonly body: any;
  readonly headers: http.IncomingHttpHeaders;
}

function ask(socketPath: string, cookies: Map<string, string>) {
  return (method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const request = http.request(
        {
          socketPath,
          method,
          path,
          agent: false,
          headers: {
            host: 'cistern.test',
            origin: 'https://cistern.test',
            ...(cookie && { cookie }),
            ...(body !== undefined && { 'content-type': 'application/json' }),
            ...headers,
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('end', () => {
            for (const line of response.headers['set-cookie'] ?? []) {
              const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
              if (value) cookies.set(name as string, value);
              else cookies.delete(name as string);
            }
            const bytes = Buffer.concat(chunks);
            const isJson = /json/.test(String(response.headers['content-type']));
            resolve({
              status: response.statusCode ?? 0,
              text: bytes.toString('latin1'),
              body: isJson ? JSON.parse(bytes.toString('utf8')) : undefined,
              headers: response.headers,
            });
          });
        },
      );
      request.on('error', reject);
      request.end(body === undefined ? undefined : JSON.stringify(body));
    });
}

/** The real store, ready. */
async function telemetry(t: TestContext, where: Place) {
  const storaged = launch(t, program('storaged'), [
    ...['--data', join(where.directory, 'telemetry'), '--socket', socketOf(where, 'storaged')],
    ...['--statsd-admin', '', '--statsd', '', '--host-statistics=false'],
  ]);
  const store = ask(socketOf(where, 'storaged'), new Map());
  await eventually(async () =>
    assert.equal((await store('GET', '/healthz').catch(() => assert.fail(storaged.log()))).status, 200),
  );
  return { storaged, store };
}

async function setUp(client: ReturnType<typeof ask>): Promise<void> {
  assert.equal((await client('POST', '/api/setup/enter-code', { code: CODE })).status, 200);
  assert.equal(
    (await client('POST', '/api/setup/create-administrator', { name: 'ada', password: PASSWORD })).status,
    200,
  );
}

test('it starts, keeps its socket to its group, is alone, and ends in time', async (t) => {
  const where = place(t);
  const socket = socketOf(where, 'akd');
  writeFileSync(socket, 'left by a crash');
  const running = await akd(t, where);
  assert.equal(statSync(socket).mode & 0o777, 0o660);
  assert.equal(statSync(where.env.CISTERN_STATE as string).mode & 0o777, 0o700);

  const second = launch(t, process.execPath, [MAIN], where.env);
  await eventually(() => assert.equal(second.child.exitCode, 1));
  assert.match(second.log(), /another process answers on/);

  const client = ask(socket, new Map());
  await setUp(client);
  // An open page must not hold it up.
  const watching = http.get({ socketPath: socket, path: '/api/events', agent: false });
  watching.on('error', () => {});
  const took = await running.end('SIGTERM');
  assert.ok(took < 4_000, `${took} ms`);
  assert.equal(running.child.exitCode, 0, running.log());
  assert.ok(!running.log().includes(PASSWORD) && !running.log().includes(CODE));
});

test('a platform there is no driver for is said so at the start', async (t) => {
  const where = place(t);
  const running = launch(t, process.execPath, [MAIN], { ...where.env, CISTERN_PLATFORM: 'windows' });
  await eventually(() => assert.equal(running.child.exitCode, 2));
  assert.match(running.log(), /must be linux, illumos or sim/);
});

test('an open page is told what changes', async (t) => {
  const where = place(t);
  await akd(t, where);
  const cookies = new Map<string, string>();
  const client = ask(socketOf(where, 'akd'), cookies);
  await setUp(client);
  let heard = '';
  let over = false;
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const request = http.get(
    { socketPath: socketOf(where, 'akd'), path: '/api/events', agent: false, headers: { cookie } },
    (response) => {
      assert.match(String(response.headers['content-type']), /^text\/event-stream/);
      response.on('data', (chunk) => {
        heard += chunk;
      });
      response.on('error', () => {});
      response.on('close', () => {
        over = true;
      });
    },
  );
  request.on('error', () => {});
  t.after(() => request.destroy());
  await eventually(() => assert.match(heard, /retry/));
  await client('POST', '/internal/sim/disk-remove', { disk: 'data1' });
  await eventually(() => assert.match(heard, /event: change\ndata: \{"topic":"disks"\}\n\n/));
  await client('DELETE', '/api/session');
  const before = heard.length;
  await client('POST', '/internal/sim/disk-return', { disk: 'data1' });
  await eventually(() => assert.ok(over), 5_000);
  assert.equal(heard.length, before, 'who has signed out hears no more');
});

test('the ready forms against the real store: people slower than a limit, a ratio of rates, a change, and the past', async (t) => {
  const where = place(t);
  const { store } = await telemetry(t, where);
  await akd(t, where);
  const client = ask(socketOf(where, 'akd'), new Map());
  await setUp(client);
  // Two minutes: one of well-being, then one in which five people a second wait for two seconds, and egress is four times
  // of what it was.
  const now = Math.floor(Date.now() / 1000);
  const samples = [];
  for (let second = 0; second < 120; second++) {
    const time = now - 119 + second;
    const late = second >= 60;
    const bins = late ? { 0.2: 20, 2: 5 } : { 0.2: 20, 2: 0 };
    const counters = { in_total: second * 10, out_total: second * 44 + (late ? (second - 60) * 132 : 0) };
    for (const host of ['a', 'b']) {
      samples.push({ name: 'checkout.time', labels: { host }, time, histogram: { bins } });
      for (const [name, value] of Object.entries(counters)) samples.push({ name, labels: { host }, time, value });
    }
    samples.push({ name: 'level', labels: {}, time, value: late ? second : 60 });
  }
  const taken = await store('POST', '/api/v1/import', { samples });
  assert.deepEqual([taken.status, taken.body.rejected], [200, []]);

  const people = { kind: 'over-limit', metric: '{"checkout.time"}', slowerThan: 1.5, overSeconds: 60, by: [] };
  const limits = { expression: 'x', direction: 'above', raise: 20, clear: 20 };
  const preview = async (body: object) => {
    const answer = await client('POST', '/api/thresholds/preview', { ...limits, ...body });
    assert.deepEqual([answer.status, answer.body.error], [200, null], answer.text);
    return answer.body;
  };
  const found = await preview({ form: people, rangeSeconds: 180 });
  const window = `query=${encodeURIComponent('{"checkout.time"}')}&start=${now - 59}&end=${now + 1}&step=60&above=1.5`;
  const said = await store('GET', `/api/v1/histogram/over?${window}`);
  assert.equal(said.body.columns[0].over, 600, said.text);
  assert.ok(Math.abs(found.series[0].value - 600) <= 20, `${found.series[0].value} as /histogram/over says`);
  assert.match(found.warnings[0], /beyond the limit now: the rule would raise at once/);
  assert.equal(found.past.firings.length, 1, JSON.stringify(found.past));
  const raised = Date.parse(found.past.firings[0].raisedAt) / 1000;
  assert.ok(raised > now - 62 && raised < now - 40, 'a few seconds after it began');
  assert.equal(found.past.firings[0].clearedAt, null);
  const each = await preview({ form: { ...people, by: ['host'] } });
  assert.equal(each.series.length, 2);

  const ratio = { kind: 'ratio', metric: 'out_total', to: 'in_total', overSeconds: 30, by: ['host'] };
  const factor = await preview({ form: ratio });
  assert.ok(
    factor.series.every((one: { value: number }) => Math.abs(one.value - 17.6) < 0.1),
    JSON.stringify(factor.series),
  );
  const change = await preview({ form: { kind: 'change', metric: 'level', overSeconds: 30, by: [] } });
  assert.ok(Math.abs(change.series[0].value - 30) < 2, JSON.stringify(change.series));
  const nothing = await preview({ form: { ...ratio, metric: 'no_such' } });
  assert.deepEqual([nothing.series, nothing.warnings], [[], ['No series matches now. The rule waits for one.']]);
});

test('a sample beyond a limit is noticed when it comes, not when the rule has its turn', async (t) => {
  const where = place(t);
  const { storaged, store } = await telemetry(t, where);
  // The next turn is a minute after the start.
  await akd(t, { ...where, env: { ...where.env, CISTERN_EVALUATE_SECONDS: '300' } });
  const client = ask(socketOf(where, 'akd'), new Map());
  await setUp(client);
  const rule = {
    ...{ name: 'Queue', expression: 'queue_length', direction: 'above', raise: 10, clear: 5, severity: 'critical' },
    ...{ raiseForSeconds: 0, clearForSeconds: 0, repostSeconds: 0, enabled: true, destinations: [] },
  };
  assert.equal((await client('POST', '/api/thresholds', rule)).status, 201);
  // The store cannot watch this one.
  const summed = { ...rule, name: 'Sum', expression: 'sum(queue_length)' };
  assert.equal((await client('POST', '/api/thresholds', summed)).status, 201);
  const measure = async (host: string, ...values: number[]) => {
    for (const value of values) {
      const samples = [{ name: 'queue_length', labels: { host }, value }];
      assert.equal((await store('POST', '/api/v1/import', { samples })).body.accepted, 1);
    }
  };
  const told = async (host: string) => {
    const { items } = (await client('GET', '/api/alerts')).body;
    const found = items.filter((one: { labels: { host?: string } }) => one.labels.host === host);
    assert.deepEqual(
      found.map((one: { ruleName: string; value: number }) => [one.ruleName, one.value]),
      [['Queue', 16]],
    );
  };
  // When the store begins to watch nobody is told.
  await eventually(async () => {
    await measure('web1', 1, 16);
    await told('web1');
  });
  const evaluated = async (): Promise<string[]> =>
    (await client('GET', '/api/thresholds')).body.items.map(
      (one: { state: { evaluatedAt: string } }) => one.state.evaluatedAt,
    );
  const before = await evaluated();
  await measure('web2', 16);
  await eventually(() => told('web2'));
  const after = await evaluated();
  assert.notEqual(after[0], before[0]);
  assert.equal(after[1], before[1], 'no turn of all rules meanwhile');
  // A stream that would never end by itself is ended by a store that stops, and not cut off when its patience is over.
  const limits = JSON.stringify({ limits: [{ query: 'queue_length', above: 10 }] });
  const watching = http.request({ socketPath: socketOf(where, 'storaged'), method: 'POST', path: '/admin/watch' });
  watching.end(limits);
  const [stream] = (await once(watching, 'response')) as [http.IncomingMessage];
  stream.on('error', () => {}); // complete tells
  const closed = once(stream.resume(), 'close');
  await storaged.end('SIGTERM');
  await closed;
  assert.ok(stream.complete, storaged.log());
});

test('from a sample to a mail and a trap, through a kill of akd; each once, and the clearing too', async (t) => {
  const where = place(t);
  const { store } = await telemetry(t, where);

  const mailbox = await smtp(t, { user: 'alerts', password: PASSWORD });
  const receiver = await snmptrapd(t, 'authCommunity log public');
  const first = await akd(t, where);
  const client = ask(socketOf(where, 'akd'), new Map());
  await setUp(client);
  const email = {
    host: '127.0.0.1',
    port: mailbox.port,
    security: 'starttls',
    verifyCertificate: false,
    user: 'alerts',
    password: PASSWORD,
    from: 'cistern@example.org',
    to: ['ops@example.org'],
  };
  const snmp = { host: '127.0.0.1', port: receiver.port, version: '2c', inform: true, community: 'public' };
  assert.equal(
    (await client('POST', '/api/destinations', { name: 'Mail', kind: 'email', enabled: true, email })).status,
    201,
  );
  assert.equal(
    (await client('POST', '/api/destinations', { name: 'Traps', kind: 'snmp', enabled: true, snmp })).status,
    201,
  );

  const bad = await client('POST', '/api/thresholds/preview', {
    expression: 'sum(',
    direction: 'above',
    raise: 1,
    clear: 1,
  });
  assert.match(bad.body.error, /parse error/);
  const rule = {
    name: 'Queue',
    expression: 'queue_length',
    direction: 'above',
    raise: 10,
    clear: 5,
    raiseForSeconds: 0,
    clearForSeconds: 0,
    repostSeconds: 0,
    severity: 'critical',
    enabled: true,
    destinations: [],
  };
  assert.equal((await client('POST', '/api/thresholds', rule)).status, 201);
  const measure = async (value: number) => {
    const samples = [{ name: 'queue_length', labels: { host: 'web1' }, value }];
    assert.equal((await store('POST', '/api/v1/import', { samples })).body.accepted, 1);
  };
  await measure(42.5);
  await eventually(() => assert.equal(mailbox.letters.length, 1, first.log()), 15_000);
  await eventually(() => assert.equal(receiver.traps().length, 1, first.log()), 15_000);
  assert.match(mailbox.letters[0]?.content ?? '', /above the limit of 10/);
  assert.match(receiver.traps()[0] ?? '', /"threshold\.exceeded".*INTEGER: 3.*"42\.5".*"10"/);

  // Killed between the mail server's word and its being written down, akd would rightly send once more.
  await eventually(async () => {
    const [alert] = (await client('GET', '/api/alerts')).body.items;
    assert.deepEqual(
      alert.deliveries.map(({ state }: { state: string }) => state),
      ['delivered', 'delivered'],
    );
  }, 15_000);

  await first.end('SIGKILL');
  await measure(43);
  const second = await akd(t, where);
  await client('POST', '/api/session', { user: 'ada', password: PASSWORD });
  await eventually(async () => {
    const [one] = (await client('GET', '/api/thresholds')).body.items;
    assert.deepEqual([one.state.series[0]?.state, one.state.series[0]?.value], ['active', 43]);
  });
  // The sample is a second later than the last one at the least: the store keeps one for each second.
  await eventually(async () => {
    await measure(1);
    assert.equal((await client('GET', '/api/alerts')).body.items.length, 0, second.log());
  }, 15_000);
  await eventually(() => assert.equal(mailbox.letters.length, 2, second.log()), 15_000);
  await eventually(() => assert.equal(receiver.traps().length, 2, second.log()), 15_000);
  assert.match(mailbox.letters[1]?.content ?? '', /Cleared/);
  assert.match(receiver.traps()[1] ?? '', /\.7710\.0\.2/);

  const { ingest } = (await client('GET', '/api/status')).body;
  assert.deepEqual([ingest.available, ingest.series > 0], [true, true]);
});

test('a support bundle: made, watched, downloaded in parts, removed', async (t) => {
  const where = place(t);
  const support = join(where.directory, 'support');
  const supportd = launch(t, program('supportd'), [
    '-dir',
    support,
    '-run',
    where.run,
    '-state',
    where.directory,
    '-socket',
    socketOf(where, 'supportd'),
  ]);
  await akd(t, where);
  const client = ask(socketOf(where, 'akd'), new Map());
  await setUp(client);
  await eventually(async () => assert.equal((await client('GET', '/api/bundles')).status, 200, supportd.log()));
  const made = await client('POST', '/api/bundles', {});
  assert.equal(made.status, 202, made.text);
  const path = `/api/bundles/${made.body.id}`;
  const done = await eventually(async () => {
    const { body } = await client('GET', path);
    assert.equal(body.state, 'done', JSON.stringify(body));
    return body;
  }, 60_000);
  const whole = await client('GET', `${path}/content`);
  assert.equal(whole.status, 200);
  assert.equal(whole.text.length, done.bytes);
  assert.equal(Buffer.from(whole.text.slice(0, 2), 'latin1').toString('hex'), '28b5');
  const part = await client('GET', `${path}/content`, undefined, { range: 'bytes=10-19' });
  assert.deepEqual([part.status, part.text], [206, whole.text.slice(10, 20)]);
  assert.equal((await client('DELETE', path)).status, 204);
  assert.equal((await client('GET', path)).body.code, 'not_found');
  assert.equal((await client('GET', `${path}/content`)).body.code, 'not_found');
});
