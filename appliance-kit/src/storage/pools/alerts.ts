// The alerts that this domain can raise: what the pages, the mails and the traps say of each.
import { alertClass } from '../../alerting/catalogue/alert-class.ts';
import { inDays } from '../../alerting/catalogue/words.ts';
import { duration, enumerate, percent, plural, size } from '../../base/words.ts';

export interface PoolArgs {
  readonly pool: string;
  readonly sentence: string;
  readonly system: boolean;
  readonly telemetry: boolean;
  /** Devices that ZFS has taken out of use: each has an alert of its own, which explains this one. */
  readonly faulted?: readonly string[];
}

const pool = (args: PoolArgs) => ({ pool: args.pool });

const poolPage = ({ pool: name }: PoolArgs) => `/storage/pools/${encodeURIComponent(name)}`;

const poolKey = (kind: string) => (args: PoolArgs) => `${kind}/${args.pool}`;

export const poolDegraded = alertClass<PoolArgs>({
  class: 'pool.degraded',
  severity: () => 'warning',
  title: (args) => `Pool “${args.pool}” is degraded`,
  text: (args) => args.sentence,
  impact: () => 'No data is lost, but it has fewer copies than intended: another failure may lose some.',
  response: () => 'The pool goes on with the remaining disks, and with a spare if it has one.',
  action: () => 'Reseat or replace the disk that is named; the pool then resilvers automatically.',
  page: poolPage,
  labels: pool,
  dedupKey: poolKey('pool.degraded'),
  example: { pool: 'tank', sentence: 'Degraded.', system: false, telemetry: true },
  dedupExample: 'pool.degraded/tank',
  dependsOn: (args) => [
    `pool.faulted/${args.pool}`,
    `pool.suspended/${args.pool}`,
    ...(args.faulted ?? []).map((device) => `disk.faulted/${args.pool}/${device}`),
  ],
  visibleAfterSeconds: 0,
});

const poolDown = (args: PoolArgs) =>
  args.telemetry
    ? 'No measurement can be stored or read until it is back.'
    : args.system
      ? 'The appliance cannot keep its own state and may stop working.'
      : 'What is stored on it cannot be reached.';

export const poolFaulted = alertClass<PoolArgs>({
  class: 'pool.faulted',
  severity: () => 'critical',
  title: (args) => `Pool “${args.pool}” is faulted`,
  text: (args) => args.sentence,
  impact: poolDown,
  response: () => 'ZFS has stopped using the pool to protect what is on it.',
  action: () => 'Connect the missing disks again. If they are lost, restore the pool from a replica or a backup.',
  page: poolPage,
  labels: pool,
  dedupKey: poolKey('pool.faulted'),
  example: { pool: 'tank', sentence: 'Degraded.', system: false, telemetry: true },
  dedupExample: 'pool.faulted/tank',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
});

export const poolSuspended = alertClass<PoolArgs>({
  class: 'pool.suspended',
  severity: () => 'critical',
  title: (args) => `Pool “${args.pool}” is suspended`,
  text: (args) => args.sentence,
  impact: poolDown,
  response: () => 'ZFS holds all reading and writing until the disks answer again; nothing that was written is lost.',
  action: () => 'Check cables and controllers, connect the disks again, then clear the pool.',
  page: poolPage,
  labels: pool,
  dedupKey: poolKey('pool.suspended'),
  example: { pool: 'tank', sentence: 'Degraded.', system: false, telemetry: true },
  dedupExample: 'pool.suspended/tank',
  dependsOn: (args) => [`pool.faulted/${args.pool}`],
  visibleAfterSeconds: 0,
});

export const poolMissing = alertClass<{ readonly pool: string }>({
  class: 'pool.missing',
  severity: () => 'critical',
  title: (args) => `Pool “${args.pool}” is not there`,
  text: (args) =>
    `The pool “${args.pool}” belongs to this machine, and is not imported: its disks were not found when the machine started, or it was exported at a shell.`,
  impact: () =>
    'What is stored on it cannot be reached. If the telemetry is on it, no measurement can be stored or read until it is back.',
  response: () =>
    'The machine looks for it each time it starts. The log of the service “Data pools” says why it was not imported.',
  action: () =>
    'Connect its disks and import it on the page Storage, or restart the machine. If it is gone for good, take its name out of the file /var/lib/cistern/execd/pools.',
  page: () => '/storage',
  labels: ({ pool: name }) => ({ pool: name }),
  dedupKey: ({ pool: name }) => `pool.missing/${name}`,
  example: { pool: 'tank' },
  dedupExample: 'pool.missing/tank',
  dependsOn: () => [],
  // A pool is remembered before it is made, which may take minutes; and at a start many disks take their time.
  visibleAfterSeconds: 300,
});

export const poolKeysOf = (dataset: string) => {
  const [name] = dataset.split('/');
  return [`pool.faulted/${name}`, `pool.suspended/${name}`, `pool.missing/${name}`];
};

export interface ScrubArgs {
  readonly pool: string;
  readonly scan: 'scrub' | 'resilver';
  readonly startedAt: string;
  readonly repairedBytes: number;
  readonly errors: number;
  /** Disks with checksum errors, with their number. */
  readonly disks: readonly string[];
}

export const scrubFound = alertClass<ScrubArgs>({
  class: 'scrub.found',
  severity: ({ errors }) => (errors > 0 ? 'critical' : 'warning'),
  severities: ['critical', 'warning'],
  title: ({ pool: name, errors, scan }) =>
    errors > 0
      ? `The ${scan} of pool “${name}” found what it could not repair`
      : `The ${scan} of pool “${name}” repaired data`,
  text: ({ pool: name, repairedBytes, errors, disks, scan }) =>
    `The ${scan} of “${name}” ${errors > 0 ? `found ${plural(errors, 'error')} it could not repair` : `repaired ${size(repairedBytes)}`}.${disks.length === 0 ? '' : ` Checksum errors were on ${enumerate(disks)}.`}`,
  impact: ({ errors }) =>
    errors > 0
      ? 'What is damaged cannot be read any more; the page of the pool says which files these are, or how to find out.'
      : 'No data is lost: what was wrong on one disk was right on another.',
  response: () => 'What had a sound copy was written anew from it.',
  action: ({ errors }) =>
    errors > 0
      ? 'Restore the named files from a snapshot, a replica or a backup, and scrub again.'
      : 'Once may be an accident. If the same disk has errors again, replace it.',
  page: ({ pool: name }) => `/storage/pools/${encodeURIComponent(name)}`,
  labels: ({ pool: name }) => ({ pool: name }),
  dedupKey: ({ pool: name, startedAt }) => `scrub.found/${name}/${startedAt}`,
  example: {
    pool: 'tank',
    scan: 'scrub',
    startedAt: '2026-01-01T02:00:00.000Z',
    repairedBytes: 4096,
    errors: 0,
    disks: ['scsi-A (3)'],
  },
  dedupExample: 'scrub.found/tank/2026-01-01T02:00:00.000Z',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
  transient: true,
});

export const scrubFinished = alertClass<Omit<ScrubArgs, 'scan' | 'disks'> & { readonly tookSeconds: number }>({
  class: 'scrub.finished',
  severity: () => 'info',
  title: ({ pool: name }) => `The scrub of pool “${name}” has ended`,
  text: ({ pool: name, tookSeconds, repairedBytes, errors }) =>
    `The scrub of “${name}” has ended after ${duration(Math.round(tookSeconds))}: ${errors > 0 ? `with ${plural(errors, 'error')} that could not be repaired` : repairedBytes > 0 ? `${size(repairedBytes)} were repaired` : 'without errors'}.`,
  impact: () => 'All data of the pool was read, and compared with its checksums.',
  response: () => 'The next one is done by the schedule.',
  action: ({ errors, repairedBytes }) =>
    errors === 0 && repairedBytes === 0 ? 'Nothing needs to be done.' : 'See the alert about what was found.',
  page: ({ pool: name }) => `/storage/pools/${encodeURIComponent(name)}`,
  labels: ({ pool: name }) => ({ pool: name }),
  dedupKey: ({ pool: name, startedAt }) => `scrub.finished/${name}/${startedAt}`,
  example: { pool: 'tank', startedAt: '2026-01-01T02:00:00.000Z', tookSeconds: 5400, repairedBytes: 0, errors: 0 },
  dedupExample: 'scrub.finished/tank/2026-01-01T02:00:00.000Z',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
  transient: true,
  muted: true,
  optional: true,
});

export interface ResilverArgs {
  readonly pool: string;
  readonly startedAt: string;
  /** What was written to the disks that lacked it. */
  readonly repairedBytes: number;
  readonly errors: number;
  /** Nothing is missing from the pool any more. */
  readonly whole: boolean;
}

export const resilverFinished = alertClass<ResilverArgs>({
  class: 'resilver.finished',
  severity: () => 'info',
  title: ({ pool: name }) => `The resilver of pool “${name}” has ended`,
  text: ({ pool: name, repairedBytes, errors }) =>
    `The resilver of “${name}” has ended: ${size(repairedBytes)} were written to disks that lacked them, ${errors > 0 ? `with ${plural(errors, 'error')} that could not be repaired` : 'without errors'}.`,
  impact: ({ whole }) =>
    whole
      ? 'The pool has as many copies of its data as it is meant to have.'
      : 'The pool is still not as it is meant to be: another disk is missing, or a spare stands in.',
  response: () => 'The pool goes on as before, with the new disk.',
  action: ({ whole, errors }) =>
    whole && errors === 0 ? 'Nothing needs to be done.' : 'See the page of the pool for what is missing or damaged.',
  page: ({ pool: name }) => `/storage/pools/${encodeURIComponent(name)}`,
  labels: ({ pool: name }) => ({ pool: name }),
  dedupKey: ({ pool: name, startedAt }) => `resilver.finished/${name}/${startedAt}`,
  example: { pool: 'tank', startedAt: '2026-01-01T02:00:00.000Z', repairedBytes: 4096, errors: 0, whole: true },
  dedupExample: 'resilver.finished/tank/2026-01-01T02:00:00.000Z',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
  transient: true,
});

export interface SpareArgs {
  readonly pool: string;
  /** The spare. */
  readonly device: string;
  readonly words: string;
  /** What it stands in for, as a disk is found. */
  readonly failed: string;
}

export const spareUsed = alertClass<SpareArgs>({
  class: 'spare.used',
  severity: () => 'warning',
  title: ({ pool: name }) => `A spare stands in for a disk of pool “${name}”`,
  text: ({ pool: name, words, failed }) => `The spare ${words} of “${name}” stands in for ${failed}.`,
  impact: () => 'When it has been resilvered, no copy of the data is missing; but the pool has one spare less.',
  response: () => 'The spare takes over what the disk held.',
  action: () =>
    'Replace the disk that is named: the spare is then free again. Or detach that disk, and the spare stays in its place.',
  page: ({ pool: name }) => `/storage/pools/${encodeURIComponent(name)}`,
  labels: ({ pool: name, device }) => ({ pool: name, disk: device }),
  dedupKey: ({ pool: name, device }) => `spare.used/${name}/${device}`,
  example: { pool: 'tank', device: 'scsi-A', words: 'A (bay 3)', failed: 'B (bay 4)' },
  dedupExample: 'spare.used/tank/scsi-A',
  dependsOn: ({ pool: name }) => [`pool.faulted/${name}`, `pool.suspended/${name}`],
  visibleAfterSeconds: 0,
});

export interface DamagedPoolArgs {
  readonly pool: string;
  readonly count: number;
  /** The first of them, by name; null when ZFS did not name them. */
  readonly files: readonly string[] | null;
}

export const poolDamaged = alertClass<DamagedPoolArgs>({
  class: 'pool.damaged',
  severity: () => 'critical',
  title: ({ pool: name }) => `Data on pool “${name}” is damaged beyond repair`,
  text: ({ pool: name, count, files }) =>
    files === null
      ? `ZFS counts ${plural(count, 'error')} on “${name}” that cannot be repaired; the names of the damaged files were not available to the appliance.`
      : `${plural(count, 'file')} on “${name}” cannot be read any more${files.length === 0 ? '' : `: ${files.join(', ')}${count > files.length ? ' and more' : ''}`}.`,
  impact: () => 'Reading what is damaged fails. Everything else is there.',
  response: () => 'ZFS never gives out wrong data for it: reading it is an error.',
  action: ({ pool: name, files }) =>
    `${files === null ? `Log in and run “zpool status -v ${name}” as root: it names the files. ` : ''}Restore the files from a snapshot, a replica or a backup, then scrub the pool; this clears when they are repaired.`,
  page: ({ pool: name }) => `/storage/pools/${encodeURIComponent(name)}`,
  labels: ({ pool: name }) => ({ pool: name }),
  dedupKey: ({ pool: name }) => `pool.damaged/${name}`,
  example: { pool: 'tank', count: 1, files: ['/tank/a'] },
  dedupExample: 'pool.damaged/tank',
  dependsOn: ({ pool: name }) => [`pool.faulted/${name}`, `pool.suspended/${name}`],
  visibleAfterSeconds: 0,
});

export interface FullPoolArgs {
  readonly pool: string;
  readonly capacity: number;
  readonly free: number;
}

export const poolFull = alertClass<FullPoolArgs>({
  class: 'pool.full',
  severity: ({ capacity }) => (capacity >= 0.9 ? 'critical' : 'warning'),
  severities: ['critical', 'warning'],
  title: ({ pool: name, capacity }) => `Pool “${name}” is ${percent(capacity)} full`,
  text: ({ pool: name, capacity, free }) => `“${name}” is ${percent(capacity)} full; ${size(free)} are free.`,
  impact: () => 'A pool that is nearly full becomes slow, and one that is full takes nothing any more.',
  response: () => 'The appliance goes on writing as long as there is room.',
  action: () => 'Add disks, destroy snapshots that are not needed, or keep measurements for a shorter time.',
  page: ({ pool: name }) => `/storage/pools/${encodeURIComponent(name)}`,
  labels: ({ pool: name }) => ({ pool: name }),
  dedupKey: ({ pool: name, capacity }) => `pool.full/${name}/${capacity >= 0.9 ? 90 : 80}`,
  example: { pool: 'tank', capacity: 0.85, free: 9 * 2 ** 30 },
  dedupExample: 'pool.full/tank/80',
  dependsOn: () => [],
  // A snapshot that is destroyed a moment later is no alert.
  visibleAfterSeconds: 60,
});

export interface FillingPoolArgs {
  readonly pool: string;
  readonly percent: number;
  /** Until it is full, at the pace of the last day. */
  readonly days: number;
}

export const poolFilling = alertClass<FillingPoolArgs>({
  class: 'pool.filling',
  severity: ({ days }) => (days < 3 ? 'critical' : 'warning'),
  severities: ['critical', 'warning'],
  title: ({ pool: name, days }) => `Pool “${name}” will be full ${inDays(days)}`,
  text: ({ pool: name, percent: used, days }) =>
    `“${name}” is ${percent(used / 100)} full, and at the pace of the last day it is full ${inDays(days)}.`,
  impact: () => 'A pool that is nearly full becomes slow, and one that is full takes nothing any more.',
  response: () => 'The appliance goes on writing as long as there is room, and looks again each hour.',
  action: () =>
    'Find out what grew. Add disks, destroy snapshots that are not needed, or keep measurements for a shorter time.',
  page: ({ pool: name }) => `/storage/pools/${encodeURIComponent(name)}`,
  labels: ({ pool: name }) => ({ pool: name }),
  dedupKey: ({ pool: name, days }) => `pool.filling/${name}/${days < 3 ? 3 : 14}`,
  example: { pool: 'tank', percent: 70, days: 9.5 },
  dedupExample: 'pool.filling/tank/14',
  dependsOn: ({ pool: name }) => [`pool.full/${name}/80`, `pool.full/${name}/90`],
  visibleAfterSeconds: 0,
});

export interface DiskArgs {
  readonly pool: string;
  /** As ZFS names it. */
  readonly device: string;
  /** Serial number, model and place, as far as they are known. */
  readonly words: string;
  readonly errors: string;
}

export const diskFaulted = alertClass<DiskArgs>({
  class: 'disk.faulted',
  severity: () => 'critical',
  title: ({ pool: name, words }) => `Disk ${words} of pool “${name}” has failed`,
  text: ({ pool: name, words, errors }) =>
    `ZFS has taken the disk ${words} of “${name}” out of use because of too many errors (${errors}).`,
  impact: () => 'No data is lost, but it has fewer copies than intended: another failure may lose some.',
  response: () => 'The pool goes on with the remaining disks, and with a spare if it has one.',
  action: () => 'Replace the disk: the page leads through it.',
  page: ({ pool: name, device }) =>
    `/storage/pools/${encodeURIComponent(name)}/replace?device=${encodeURIComponent(device)}`,
  labels: ({ pool: name, device }) => ({ pool: name, disk: device }),
  dedupKey: ({ pool: name, device }) => `disk.faulted/${name}/${device}`,
  example: { pool: 'tank', device: 'scsi-A', words: 'A (bay 3)', errors: '0' },
  dedupExample: 'disk.faulted/tank/scsi-A',
  dependsOn: ({ pool: name }) => [`pool.faulted/${name}`, `pool.suspended/${name}`],
  visibleAfterSeconds: 0,
});

export const alertClasses = [
  poolMissing,
  poolDegraded,
  poolFaulted,
  poolSuspended,
  scrubFound,
  scrubFinished,
  resilverFinished,
  spareUsed,
  poolDamaged,
  poolFull,
  poolFilling,
  diskFaulted,
] as const;
