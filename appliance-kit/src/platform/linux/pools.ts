// Reads pools from OpenZFS 2.3's JSON: `zpool status -j`, `zpool list -j`, and the properties from `zfs get -Hp`.
// Numbers are taken as numbers or as text, since which of them `--json-int` turns differs between fields and releases.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import type { PlatformPool } from '../platform.ts';
import type { PoolState, Vdev } from '../pool.ts';

type Json = Record<string, unknown>;

/** A pool's states. */
export const STATES: ReadonlySet<string> = new Set([
  'ONLINE',
  'DEGRADED',
  'FAULTED',
  'SUSPENDED',
  'UNAVAIL',
  'OFFLINE',
  'REMOVED',
]);

const object = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {});
const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

/** A count or a size; "-" and what cannot be read is 0, "12%" and "1.42x" are their number. */
export function number(value: unknown): number {
  if (typeof value === 'number') return Number.isFinite(value) ? value : 0;
  const found = typeof value === 'string' ? Number.parseFloat(value) : 0;
  return Number.isFinite(found) ? found : 0;
}

/** Seconds since the epoch as a number or text, or a date as ctime writes it (the command runs in UTC). */
export function time(value: unknown): string | null {
  if (value === undefined || value === null || value === '-' || value === '') return null;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return seconds > 0 ? iso(seconds * 1000) : null;
  const parsed = Date.parse(`${String(value)} UTC`);
  return Number.isNaN(parsed) ? null : iso(parsed);
}

function parse(json: string, command: string): Json {
  try {
    return object(object(JSON.parse(json)).pools);
  } catch (error) {
    throw fail('command_failed', `What “${command}” printed cannot be read: ${(error as Error).message}`);
  }
}

/** `raidz2-0` is of the type `raidz` in some fields: the name says it exactly. */
function vdevType(vdev: Json, name: string): string {
  const type = text(vdev.vdev_type) ?? 'disk';
  if (type === 'raidz' || type === 'draid') return /^([a-z]+\d)/.exec(name)?.[1] ?? type;
  return type;
}

function readVdev(name: string, value: unknown): Vdev {
  const vdev = object(value);
  const ownName = text(vdev.name) ?? name;
  return {
    name: ownName,
    type: vdevType(vdev, ownName),
    state: text(vdev.state) ?? 'UNAVAIL',
    readErrors: number(vdev.read_errors),
    writeErrors: number(vdev.write_errors),
    checksumErrors: number(vdev.checksum_errors),
    // A device that is gone has its guid for a name, and says what its path was.
    path: text(vdev.path) ?? text(vdev.was),
    diskId: null,
    children: Object.entries(object(vdev.vdevs)).map(([child, inner]) => readVdev(child, inner)),
  };
}

/** Log, cache and spare devices: listed beside the data, under a vdev that says what they are for. */
function auxiliary(pool: Json, key: string, type: string): Vdev[] {
  const children = Object.entries(object(pool[key])).map(([name, value]) => readVdev(name, value));
  if (children.length === 0) return [];
  const none = { readErrors: 0, writeErrors: 0, checksumErrors: 0, path: null, diskId: null };
  return [{ name: key, type, state: 'ONLINE', ...none, children }];
}

function readScan(value: unknown, now: number): PlatformPool['scan'] {
  const scan = object(value);
  const kind = { SCRUB: 'scrub', ERRORSCRUB: 'scrub', RESILVER: 'resilver' }[text(scan.function) ?? ''];
  if (kind === undefined) return null;
  const state = (text(scan.state) ?? 'none').toLowerCase();
  const total = number(scan.to_examine) - number(scan.skipped);
  const percent = state === 'finished' ? 100 : total > 0 ? Math.min(100, (number(scan.issued) * 100) / total) : 0;
  // Since this pass began (an import or a resumption begins another), without the time it was paused.
  const paused = state === 'scanning' && time(scan.scrub_pause) !== null;
  const began = Date.parse(time(scan.pass_start) ?? '');
  const seconds = (now - began) / 1000 - number(scan.scrub_spent_paused);
  const rate = state === 'scanning' && !paused && seconds > 0 ? number(scan.issued_bytes_per_scan) / seconds : 0;
  return {
    kind: kind as 'scrub' | 'resilver',
    state: state === 'errorscrubbing' ? 'scanning' : state,
    paused,
    percent: Math.round(percent * 10) / 10,
    bytesDone: number(scan.issued),
    bytesTotal: Math.max(0, total),
    secondsLeft: rate > 0 && total > 0 ? Math.max(0, Math.round((total - number(scan.issued)) / rate)) : null,
    startedAt: time(scan.start_time),
    finishedAt: state === 'scanning' ? null : time(scan.end_time),
    errors: number(scan.errors),
    repairedBytes: number(scan.processed),
  };
}

/** `zfs get -H -p -o name,property,value compression,compressratio,mountpoint`: tab-separated, one a line. */
export function parseProperties(output: string): Map<string, Map<string, string>> {
  const found = new Map<string, Map<string, string>>();
  for (const line of output.split('\n')) {
    const [dataset, property, value] = line.split('\t');
    if (dataset === undefined || property === undefined || value === undefined) continue;
    const properties = found.get(dataset) ?? new Map<string, string>();
    properties.set(property, value);
    found.set(dataset, properties);
  }
  return found;
}

/** What ZFS says of a pool that it could use more features of: nothing is wrong with that. */
export const UPGRADABLE = /features are not enabled|(older|legacy) on-disk (format|version)/;

export function parsePools(status: string, list: string, properties: string, now: number): PlatformPool[] {
  const statuses = parse(status, 'zpool status -j');
  const lists = parse(list, 'zpool list -j');
  const datasets = parseProperties(properties);
  return Object.entries(statuses).map(([name, value]) => {
    const pool = object(value);
    const sizes = object(object(lists[name]).properties);
    const property = (key: string) => object(sizes[key]).value;
    const state = text(pool.state) ?? 'UNAVAIL';
    // The tree begins with a root of the pool's own name.
    const root = Object.values(object(pool.vdevs)).map((one) => object(one));
    const data = root.flatMap((one) =>
      Object.entries(object(one.vdevs)).map(([child, inner]) => readVdev(child, inner)),
    );
    const own = datasets.get(name);
    const ratio = own?.get('compressratio');
    return {
      name,
      state: (STATES.has(state) ? state : 'UNAVAIL') as PoolState,
      bytes: number(property('size')),
      allocated: number(property('allocated')),
      free: number(property('free')),
      fragmentation: property('fragmentation') === undefined ? null : number(property('fragmentation')) / 100,
      status: UPGRADABLE.test(text(pool.status) ?? '') ? null : text(pool.status),
      action: UPGRADABLE.test(text(pool.status) ?? '') ? null : text(pool.action),
      scan: readScan(pool.scan_stats, now),
      vdevs: [
        ...data,
        ...auxiliary(pool, 'special', 'special'),
        ...auxiliary(pool, 'dedup', 'dedup'),
        ...auxiliary(pool, 'logs', 'log'),
        ...auxiliary(pool, 'l2cache', 'cache'),
        ...auxiliary(pool, 'spares', 'spare'),
      ],
      errors: number(pool.error_count),
      compression: own?.get('compression') ?? null,
      compressRatio: ratio === undefined ? null : number(ratio),
      telemetry: datasets.has(`${name}/telemetry`),
      properties: {
        autoexpand: property('autoexpand') === 'on',
        autotrim: property('autotrim') === 'on',
        comment: text(property('comment')) === '-' ? '' : (text(property('comment')) ?? ''),
        readOnly: property('readonly') === 'on',
      },
      // ZFS says so in the place where it says what is wrong; nothing is.
      upgradable: UPGRADABLE.test(text(pool.status) ?? ''),
    };
  });
}

const KSTATS = '/proc/spl/kstat/zfs';

/** Each pool with its state, as the kernel has it without asking a disk. */
export async function poolStates(folder = KSTATS): Promise<string> {
  const names = await readdir(folder).catch(() => []);
  const states = await Promise.all(
    names.sort().map(async (name) => {
      const state = await readFile(join(folder, name, 'state'), 'utf8').catch(() => null);
      return state === null ? [] : [`${name} ${state.trim()}`]; // a table beside the pools
    }),
  );
  return states.flat().join('\n');
}
