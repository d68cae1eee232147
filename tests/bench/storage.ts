// ./build.sh bench storage [--quick]: how long the management plane's pages of datasets and snapshots take over a generated
// tree of 2,000 datasets with 100,000 snapshots (1,000 with 10,000), over akd's own socket, while the tree changes; what akd
// holds in memory then; and how soon a schedule over 500 datasets has run. The machine is the simulated one: what ZFS itself takes is not in these figures, akd's part is.
// Nothing here passes or fails: the figures are read by people.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { systemClock } from '../../appliance-kit/src/base/clock.ts';
import { inSlices } from '../../appliance-kit/src/base/slices.ts';
import type { DatasetPlatform } from '../../appliance-kit/src/platform/datasets.ts';
import { readTree, TREE_COLUMNS } from '../../appliance-kit/src/platform/zfs/parse.ts';
import { Tree } from '../../appliance-kit/src/storage/datasets/tree.ts';
import { ask, until } from '../stack/http.ts';
import { Process } from '../stack/process.ts';
import { bundledAkd, memoryOf } from './akd.ts';

const quick = process.argv.includes('--quick');
const DATASETS = quick ? 1_000 : 2_000;
const SNAPSHOTS = quick ? 10_000 : 100_000;
const SCHEDULED = 500;
const REQUESTS = 300;

const dir = mkdtempSync(path.join(tmpdir(), 'cistern-bench-'));
const socketPath = path.join(dir, 'run/akd/http.sock');
mkdirSync(path.dirname(socketPath), { recursive: true });
writeFileSync(path.join(dir, 'code'), 'ABCD-EFGH-JKLM\n');

const akd = new Process(
  {
    name: 'akd',
    command: process.execPath,
    args: bundledAkd(),
    env: {
      CISTERN_PLATFORM: 'sim',
      CISTERN_RUN: path.join(dir, 'run'),
      CISTERN_STATE: path.join(dir, 'akd'),
      CISTERN_SETUP_CODE_FILE: path.join(dir, 'code'),
      CISTERN_BIN: path.join(dir, 'no-such-command'),
    },
    cwd: dir,
  },
  (_name, line) => {
    if (process.argv.includes('--log')) console.error(line);
  },
);

let cookie = '';
async function call<T>(method: string, address: string, body?: unknown): Promise<T> {
  const headers = { host: 'cistern.test', origin: 'https://cistern.test', ...(cookie && { cookie }) };
  const reply = await ask({ socketPath, path: address }, { method, headers, body });
  const set = (reply.headers['set-cookie'] ?? []).map((line) => line.split(';', 1)[0] as string);
  if (set.length > 0) cookie = set.filter((one) => !one.endsWith('=')).join('; ');
  if (reply.status >= 400) throw new Error(`${method} ${address}: ${reply.status} ${reply.text.slice(0, 300)}`);
  return (reply.text === '' ? undefined : reply.json()) as T;
}

const row = (what: string, measured: string, asked: string) =>
  console.log(`${what.padEnd(58)} ${measured.padStart(36)}   (asked: ${asked})`);

async function measure(what: string, address: (at: number) => string): Promise<void> {
  const times: number[] = [];
  for (let at = 0; at < REQUESTS; at++) {
    const began = performance.now();
    await call('GET', address(at));
    times.push(performance.now() - began);
  }
  times.sort((a, b) => a - b);
  const quantile = (q: number) =>
    (times[Math.min(times.length - 1, Math.floor(q * times.length))] as number).toFixed(1);
  row(what, `p50 ${quantile(0.5)}, p99 ${quantile(0.99)}, most ${quantile(1)} ms`, 'p99 ≤ 300 ms');
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
/** Bytes on the heap, garbage apart. */
function used(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

async function pool(name: string, disks: number[]): Promise<void> {
  const { id } = await call<{ id: string }>('POST', '/api/pools', {
    name,
    layout: 'mirror',
    disks: disks.map((n) => `scsi-0QEMU_QEMU_HARDDISK_data${n}`),
    telemetry: false,
  });
  await until(`the pool ${name}`, async () => {
    const { state } = await call<{ state: string }>('GET', `/api/jobs/${id}`);
    return state === 'done' || undefined;
  });
}

try {
  akd.start();
  await until('akd answers', async () => {
    try {
      return (await ask({ socketPath, path: '/api/setup' })).status === 200 || undefined;
    } catch {
      return undefined;
    }
  });
  await call('POST', '/api/setup/enter-code', { code: 'ABCD-EFGH-JKLM' });
  await call('POST', '/api/setup/create-administrator', { name: 'bench', password: 'correct horse battery' });
  const atRest = memoryOf(akd.pid as number).now;
  await pool('tank', [1, 2]);
  await pool('archive', [3, 4]);
  await call('POST', '/internal/sim/dataset-generate', { pool: 'tank', datasets: DATASETS, snapshots: SNAPSHOTS });

  // Something writes all the time: a reading differs from the one before, as on a machine that is at work.
  let writing = true;
  const writer = (async () => {
    for (let at = 1; writing; at++) {
      const file = { dataset: 'tank/bench000', path: 'growing', bytes: at * 1000, text: 'x' };
      await call('POST', '/internal/sim/dataset-write', file);
      await new Promise((done) => setTimeout(done, 2_000));
    }
  })();
  console.log(`${DATASETS} datasets, ${SNAPSHOTS} snapshots, ${REQUESTS} requests each, one after the other:`);
  await measure('datasets, pages of 50 in turn', (at) => `/api/datasets?limit=50&offset=${(at % 20) * 50}`);
  await measure('datasets, sorted by what they use', () => '/api/datasets?limit=50&sort=used');
  await measure('datasets, searched', (at) => `/api/datasets?limit=50&search=data${at % 10}`);
  await measure('one dataset', (at) => `/api/datasets/tank%2Fbench0${String(at % 90).padStart(2, '0')}`);
  await measure('snapshots, the newest', (at) => `/api/snapshots?limit=50&offset=${at}`);
  await measure('snapshots, sorted by what they hold', () => '/api/snapshots?limit=50&sort=used');
  await measure('snapshots, searched', (at) => `/api/snapshots?limit=50&search=bench00${at % 10}`);
  await measure('snapshots of one dataset', () => '/api/snapshots?limit=50&dataset=tank/bench000');
  await measure('snapshot schedules', () => '/api/snapshot-schedules');
  const held = memoryOf(akd.pid as number);
  row('memory of akd and the simulated machine, now and at most', `${held.now} MiB, ${held.most} MiB`, '–');
  writing = false;
  await writer;

  // What akd itself adds to a reading of a real machine.
  const line = (name: string, type: string) =>
    TREE_COLUMNS.map((column) => (column === 'name' ? name : column === 'type' ? type : '1760000000')).join('\t');
  const output = Array.from({ length: DATASETS + SNAPSHOTS }, (_, at) =>
    at < DATASETS ? line(`tank/data${at}`, 'filesystem') : line(`tank/data${at % DATASETS}@hourly-${at}`, 'snapshot'),
  ).join('\n');
  const empty = used();
  const before = performance.now();
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  const parsed = await inSlices(readTree(output));
  delays.disable();
  const taken = used() - empty + output.length;
  row('taking in what zfs prints of them', `${(performance.now() - before).toFixed(0)} ms`, '–');
  row('… and the longest that others waited meanwhile', `${(delays.max / 1e6).toFixed(0)} ms`, '–');
  // Names are parts of what was printed, so that all of it is kept with them.
  const without = used();
  const tree = new Tree({ tree: async () => parsed } as unknown as DatasetPlatform, systemClock, () => {});
  await tree.get();
  const kept = (used() - without + taken) / 2 ** 20;
  row('memory of akd without the simulated machine’s', `${atRest} + ${kept.toFixed(0)} MiB`, '≤ 250 MB');

  await call('POST', '/internal/sim/dataset-generate', { pool: 'archive', datasets: SCHEDULED, snapshots: SCHEDULED });
  await call('POST', '/api/snapshot-schedules', {
    dataset: 'archive',
    recursive: true,
    schedule: { every: 'minutes', minutes: 1 },
    keep: { frequent: 2, hourly: 0, daily: 0, weekly: 0, monthly: 0 },
    enabled: true,
  });
  const due = Math.ceil(Date.now() / 60_000) * 60_000;
  console.log(`waiting ${Math.round((due - Date.now()) / 1000)} s for the next minute …`);
  await new Promise((done) => setTimeout(done, Math.max(0, due - Date.now() - 200)));
  const began = await until(
    'the schedule has run',
    async () => {
      type List = { items: { snapshots: number; lastRun: { at: string; error: string | null } | null }[] };
      const [found] = (await call<List>('GET', '/api/snapshot-schedules')).items;
      return found?.lastRun && found.snapshots > SCHEDULED ? found.lastRun.at : undefined;
    },
    90,
  );
  row(`a schedule over ${SCHEDULED} datasets begins after`, `${Date.parse(began) - due} ms`, '< 1 s');
  row('… and all of its snapshots are shown after', `${Date.now() - due} ms`, '≤ 5 s');
} finally {
  await akd.stop('SIGTERM');
  rmSync(dir, { recursive: true, force: true });
}
