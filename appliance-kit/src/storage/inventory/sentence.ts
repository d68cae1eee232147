// A pool in one sentence: how it is, what it is made of, what that means for the data.

import { ago, enumerate, percent, plural, size } from '../../base/words.ts';
import type { PlatformPool } from '../../platform/platform.ts';
import { leaves, type Scan, type Vdev } from '../../platform/pool.ts';
import type { Pool } from './schema.ts';

type Described = 'sentence' | 'scan';

/** Vdevs that hold data: not spares, logs and caches. */
function dataVdevs(vdevs: readonly Vdev[]): Vdev[] {
  return vdevs.filter((vdev) => !['spare', 'log', 'cache'].includes(vdev.type) && vdev.state !== 'AVAIL');
}

function shape(pool: Pick<Pool, 'vdevs'>): string {
  const data = dataVdevs(pool.vdevs);
  const disks = plural(leaves(data).length, 'disk');
  const groups = new Map<string, number>();
  for (const { type } of data) if (type !== 'disk') groups.set(type, (groups.get(type) ?? 0) + 1);
  const words = [...groups].map(([type, count]) =>
    type === 'mirror' ? plural(count, 'mirror') : plural(count, `${type} group`),
  );
  return words.length > 0 ? `${disks} in ${enumerate(words)}` : `${disks} without a second copy`;
}

/** What ZFS calls the state of a device, as something that happened to it. */
function mishap(vdev: Vdev): string {
  const name = vdev.diskId ?? vdev.name;
  switch (vdev.state) {
    case 'REMOVED':
      return `Disk ${name} was removed`;
    case 'UNAVAIL':
      return `Disk ${name} cannot be opened`;
    case 'FAULTED':
      return `Disk ${name} made too many errors and was taken out of use`;
    case 'OFFLINE':
      return `Disk ${name} was taken offline`;
    case 'DEGRADED':
      return `Disk ${name} makes errors`;
    default:
      return `Disk ${name} is ${vdev.state}`;
  }
}

function damage(pool: Pick<Pool, 'vdevs'>): string {
  const bad = leaves(pool.vdevs).filter((leaf) => leaf.state !== 'ONLINE' && leaf.state !== 'AVAIL');
  const groups = pool.vdevs
    .filter((vdev) => vdev.children.length > 0 && vdev.state !== 'ONLINE')
    .map(({ name }) => name);
  const what = bad.length === 0 ? 'A device is not as it should be' : enumerate(bad.map(mishap));
  return groups.length > 0 ? `${what}; data is safe, with fewer copies in ${enumerate(groups)}` : what;
}

export function describeScan(scan: PlatformPool['scan'], now: number): Scan | null {
  if (scan === null) return null;
  const what = scan.kind === 'resilver' ? 'Resilver' : 'Scrub';
  const found =
    scan.errors > 0
      ? `found ${plural(scan.errors, 'error')} it could not repair`
      : scan.repairedBytes > 0
        ? `repaired ${size(scan.repairedBytes)}`
        : scan.kind === 'resilver'
          ? 'ended without errors'
          : 'found nothing';
  const sentence =
    scan.state === 'scanning'
      ? `${what} is ${scan.paused ? 'paused' : 'running'}, ${Math.floor(scan.percent ?? 0)} % done.`
      : scan.state === 'finished'
        ? `Last ${what.toLowerCase()} ${ago(now - Date.parse(scan.finishedAt ?? ''))} ${found}.`
        : `${what} was stopped before its end.`;
  return { ...scan, sentence };
}

export function describePool(pool: Omit<Pool, Described>, rawScan: PlatformPool['scan'], now: number): Pool {
  const scan = describeScan(rawScan, now);
  const full = `${percent(pool.capacity)} full`;
  const scanWords = scan === null ? '' : ` ${scan.sentence}`;
  let sentence: string;
  switch (pool.state) {
    case 'ONLINE':
      sentence =
        pool.errors > 0
          ? `Data errors. ${plural(pool.errors, 'file')} cannot be read any more. ${shape(pool)}, ${full}.`
          : `Healthy. ${shape(pool)}, ${full}${scan?.state === 'finished' ? `, ${scan.sentence.charAt(0).toLowerCase()}${scan.sentence.slice(1)}` : `.${scanWords}`}`;
      break;
    case 'DEGRADED':
      sentence = `Degraded. ${damage(pool)}.${scanWords}`;
      break;
    case 'SUSPENDED':
      sentence = `Suspended. ${damage({ vdevs: leaves(pool.vdevs) })}; nothing can be read or written until its disks are back.`;
      break;
    default:
      sentence = `Faulted. ${damage({ vdevs: leaves(pool.vdevs) })}; the pool cannot be used.`;
  }
  return { ...pool, scan, sentence };
}
