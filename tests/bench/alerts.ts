// ./build.sh bench alerts: what 5,000 threshold rules over 200,000 series cost when they are evaluated every five seconds,
// how long it takes from a sample beyond a limit to the trap, and what becomes of 10,000 alerts at once. akd, storaged and
// net-snmp's snmptrap as they are; the receivers are in this process. Nothing here passes or fails.
import { createSocket } from 'node:dgram';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import path from 'node:path';
import { binaries, build, root } from '../stack/build.ts';
import { ask, until } from '../stack/http.ts';
import { Process } from '../stack/process.ts';

const quick = process.argv.includes('--quick');
const RULES = quick ? 500 : 5_000;
const SERIES = quick ? 20_000 : 200_000;
const BURST = quick ? 1_000 : 10_000;
const CROSSINGS = quick ? 5 : 20;
const WATCHED_S = quick ? 15 : 40;
const TICKS = 100; // of /proc/PID/stat a second, on every Linux that Node runs on

await build();
const dir = mkdtempSync(path.join(process.env.CISTERN_BENCH_DIR ?? tmpdir(), 'cistern-bench-'));
const at = (name: string) => path.join(dir, 'run', name, 'http.sock');
for (const name of ['akd', 'storaged']) mkdirSync(path.dirname(at(name)), { recursive: true });
writeFileSync(path.join(dir, 'code'), 'ABCD-EFGH-JKLM\n');
const say = (_name: string, line: string) => {
  if (process.argv.includes('--log')) console.error(line);
};
const storaged = new Process(
  {
    name: 'storaged',
    command: path.join(binaries, 'storaged'),
    args: [
      ...['--data', path.join(dir, 'data'), '--socket', at('storaged'), '--statsd', '', '--statsd-admin', ''],
      ...['--host-statistics=false'],
    ],
    env: {},
    cwd: dir,
  },
  say,
);
const akd = new Process(
  {
    name: 'akd',
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', path.join(root, 'appliance-kit/src/main.ts')],
    env: {
      CISTERN_PLATFORM: 'sim',
      CISTERN_RUN: path.join(dir, 'run'),
      CISTERN_STATE: path.join(dir, 'akd'),
      CISTERN_SETUP_CODE_FILE: path.join(dir, 'code'),
      CISTERN_BIN: path.join(binaries, 'cistern'),
    },
    cwd: dir,
  },
  say,
);

let cookie = '';
async function call<T>(name: string, method: string, address: string, body?: unknown): Promise<T> {
  const headers = { host: 'cistern.test', origin: 'https://cistern.test', ...(cookie && { cookie }) };
  const reply = await ask({ socketPath: at(name), path: address }, { method, headers, body });
  const set = (reply.headers['set-cookie'] ?? []).map((line) => line.split(';', 1)[0] as string);
  if (set.length > 0) cookie = set.filter((one) => !one.endsWith('=')).join('; ');
  if (reply.status >= 400) throw new Error(`${method} ${address}: ${reply.status} ${reply.text.slice(0, 300)}`);
  return (reply.text === '' ? undefined : reply.json()) as T;
}

const row = (what: string, measured: string, asked = '') =>
  console.log(`${what.padEnd(62)} ${measured.padStart(30)}${asked && `   (asked: ${asked})`}`);
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Seconds of a core that a process has used so far. */
function used(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}

interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}
async function send(samples: Sample[]): Promise<void> {
  const { rejected } = await call<{ rejected: unknown[] }>('storaged', 'POST', '/api/v1/import', { samples });
  if (rejected.length > 0) throw new Error(`refused: ${JSON.stringify(rejected[0])}`);
}

const EACH = SERIES / RULES;
const one = (rule: number, instance: number, value: number): Sample => ({
  name: 'load',
  labels: { group: `g${rule}`, instance: `i${instance}` },
  value,
});

/** Every series anew, so that none becomes stale. */
async function feed(): Promise<void> {
  const batch = Math.floor(10_000 / EACH);
  for (let first = 0; first < RULES; first += batch) {
    const samples: Sample[] = [];
    for (let rule = first; rule < Math.min(RULES, first + batch); rule++) {
      for (let instance = 0; instance < EACH; instance++) samples.push(one(rule, instance, 1));
    }
    await send(samples);
  }
}

const traps: { at: number; text: string }[] = [];
const receiver = createSocket('udp4', (message) =>
  traps.push({ at: performance.now(), text: message.toString('latin1') }),
);
const posted: { at: number; count: number; class: string }[] = [];
const hook = http.createServer((request, response) => {
  let body = '';
  request.on('data', (chunk) => {
    body += chunk;
  });
  request.on('end', () => {
    const { alert, group } = JSON.parse(body);
    posted.push({ at: performance.now(), count: group?.count ?? 1, class: alert.class });
    response.end();
  });
});

try {
  await new Promise<void>((resolve) => receiver.bind(0, '127.0.0.1', resolve));
  await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
  storaged.start();
  await until('storaged', async () => (await ask({ socketPath: at('storaged'), path: '/healthz' })).status === 200);
  akd.start();
  await until('akd', async () => (await ask({ socketPath: at('akd'), path: '/api/setup' })).status === 200);
  await call('akd', 'POST', '/api/setup/enter-code', { code: 'ABCD-EFGH-JKLM' });
  await call('akd', 'POST', '/api/setup/create-administrator', { name: 'ada', password: 'correct horse battery' });
  const verifyCertificate = false;
  await call('akd', 'POST', '/api/destinations', {
    ...{ name: 'Traps', kind: 'snmp', enabled: true },
    snmp: { host: '127.0.0.1', port: receiver.address().port, version: '2c', inform: false, community: 'public' },
  });
  const url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/`;
  await call('akd', 'POST', '/api/destinations', {
    ...{ name: 'Hook', kind: 'webhook', enabled: true, webhook: { preset: 'json', verifyCertificate, url } },
  });

  console.log(`${cpus()[0]?.model ?? 'unknown'} × ${availableParallelism()}; ${RULES} rules, ${SERIES} series`);
  let began = performance.now();
  await feed();
  row('series written for the first time', `${((performance.now() - began) / 1000).toFixed(1)} s`);
  const rule = {
    ...{ direction: 'above', raise: 10, clear: 5, raiseForSeconds: 0, clearForSeconds: 0, repostSeconds: 0 },
    ...{ severity: 'warning', enabled: true, destinations: [] },
  };
  began = performance.now();
  for (let n = 0; n < RULES; n++) {
    const expression = `load{group="g${n}"}`;
    await call('akd', 'POST', '/api/thresholds', { ...rule, name: `Rule ${n}`, expression });
  }
  row('rules made', `${((performance.now() - began) / 1000).toFixed(1)} s`);
  await feed();
  await sleep(15_000);

  const pids = [akd.pid, storaged.pid] as [number, number];
  const before = pids.map(used);
  began = performance.now();
  await sleep(WATCHED_S * 1000);
  const seconds = (performance.now() - began) / 1000;
  const [mine, store] = pids.map((pid, index) => (used(pid) - (before[index] as number)) / seconds) as [number, number];
  const percent = (share: number) => `${(share * 100).toFixed(1)} % of a core`;
  row('evaluating them every 5 s: akd', percent(mine));
  row('                           storaged', percent(store));
  row('                           together', percent(mine + store), '25 % at most');
  const [first] = (await call<{ items: { state: { evaluatedAt: string } }[] }>('akd', 'GET', '/api/thresholds')).items;
  row(
    'how old an evaluation is',
    `${((Date.now() - Date.parse(first?.state.evaluatedAt ?? '')) / 1000).toFixed(1)} s`,
    '5 s',
  );

  const times: number[] = [];
  await feed();
  for (let n = 0; n < CROSSINGS; n++) {
    const chosen = Math.floor(Math.random() * RULES);
    traps.length = 0;
    began = performance.now();
    await send([one(chosen, 0, 100)]);
    await until('the trap', async () => traps.some(({ text }) => text.includes(`Rule ${chosen} `)), 60);
    times.push((traps.find(({ text }) => text.includes(`Rule ${chosen} `))?.at ?? 0) - began);
    await send([one(chosen, 0, 1)]);
    // Anywhere between two evaluations.
    await sleep(5_000 + Math.random() * 5_000);
  }
  times.sort((a, b) => a - b);
  const quantile = (q: number) =>
    `${((times[Math.min(times.length - 1, Math.floor(q * times.length))] as number) / 1000).toFixed(2)} s`;
  row(`from a sample to the trap, median of ${CROSSINGS}`, quantile(0.5));
  row('                           the longest', quantile(1), '2 s at p99');

  await sleep(8_000);
  await call('akd', 'POST', '/api/thresholds', { ...rule, name: 'Burst', expression: 'burst' });
  for (let from = 0; from < BURST; from += 5_000) {
    const length = Math.min(5_000, BURST - from);
    await send(Array.from({ length }, (_, n) => ({ name: 'burst', labels: { n: `${from + n}` }, value: 100 })));
  }
  posted.length = 0;
  traps.length = 0;
  began = performance.now();
  const sent = () => posted.reduce((sum, { count }) => sum + count, 0);
  await until('the burst', async () => sent() >= BURST, 120);
  await sleep(2_000);
  const log = await ask(
    { socketPath: at('akd'), path: '/api/alert-export?format=json&search=burst' },
    { method: 'GET', headers: { host: 'cistern.test', cookie } },
  );
  const logged = (log.json() as { items: { ruleName: string }[] }).items.filter((alert) => alert.ruleName === 'Burst');
  row(`${BURST} alerts at once: in the log`, String(logged.length), String(BURST));
  row('                           messages to the webhook', String(posted.length), '1');
  row('                           traps', String(traps.filter(({ text }) => text.includes('Burst')).length), '1');
  row(
    '                           until the last was sent',
    `${((Math.max(...posted.map((p) => p.at)) - began) / 1000).toFixed(1)} s`,
  );
} finally {
  await akd.stop();
  await storaged.stop();
  receiver.close();
  hook.close();
  rmSync(dir, { recursive: true, force: true });
}
