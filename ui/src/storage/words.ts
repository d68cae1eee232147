// What the states of pools and disks mean for their reader.
import type { Condition } from '../words/Sentence.tsx';
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
