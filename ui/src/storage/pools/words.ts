// What the states of pools and disks mean for their reader.
import type { Schemas } from '../../api/client.ts';
import type { Condition } from '../../words/ConditionIcon.tsx';
import type { Disk, Pool } from './queries.ts';

export function poolCondition(pool: Pick<Pool, 'state'>): Condition {
  return pool.state === 'ONLINE' ? 'ok' : pool.state === 'DEGRADED' ? 'warning' : 'critical';
}

const diskState: Record<Disk['state'], string> = {
  available: 'free',
  in_pool: 'in a pool',
  system: 'holds the appliance',
  in_use: 'in use',
  too_small: 'too small',
};
export function diskUse(disk: Disk): string {
  if (disk.pool === null) return diskState[disk.state];
  return `pool ${disk.pool}${disk.vdev && disk.vdev !== disk.id ? `, ${disk.vdev}` : ''}`;
}

/** What disks can be in a pool: id, name, what it does. */
export const vdevKinds: readonly [Schemas['AddInput']['kind'], string, string][] = [
  [
    'data',
    'Room for data',
    'The pool grows. What is on it stays where it is; what is written from now on uses all disks.',
  ],
  ['spare', 'Spare', 'Waits in the machine, and replaces a disk that fails.'],
  [
    'log',
    'Log',
    'Takes writes that must be safe at once (ZIL). Worth it on fast disks; losing one loses no more than its last seconds.',
  ],
  ['cache', 'Read cache', 'Keeps what is read often on a faster disk (L2ARC). It may fail without harm.'],
  [
    'special',
    'Metadata and small blocks',
    'On faster disks. The pool is lost when they are, so they need a second copy.',
  ],
];
