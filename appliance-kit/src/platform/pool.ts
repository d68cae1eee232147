// What every driver answers of a pool: its state, its vdevs, its last scan, what is set on it; and how vdevs are planned.
import { Bytes, Count, component, nullable, Percent, type Static, Time, Type } from '../base/schema/schema.ts';

export const PoolState = Type.Enum(['ONLINE', 'DEGRADED', 'FAULTED', 'SUSPENDED', 'UNAVAIL', 'OFFLINE', 'REMOVED']);
export type PoolState = Static<typeof PoolState>;

export interface Vdev {
  name: string;
  type: string;
  state: string;
  readErrors: number;
  writeErrors: number;
  checksumErrors: number;
  path: string | null;
  diskId: string | null;
  children: Vdev[];
}
/** Refers to itself, which a type cannot be inferred through; the interface above says what it holds. */
const VdevRef = Type.Unsafe<Vdev>({ $ref: '#/components/schemas/Vdev' });
export const Vdev = Type.Unsafe<Vdev>(
  component('Vdev', {
    name: Type.String(),
    type: Type.String({ description: 'mirror, raidz1, raidz2, raidz3, disk, spare, replacing, log, cache, special' }),
    state: Type.String(),
    readErrors: Count,
    writeErrors: Count,
    checksumErrors: Count,
    path: nullable(Type.String()),
    diskId: nullable(Type.String()),
    children: Type.Array(VdevRef),
  }),
);

export const Scan = component('Scan', {
  kind: Type.Enum(['scrub', 'resilver', 'none']),
  state: Type.String({ description: 'scanning, finished, canceled, none' }),
  paused: Type.Boolean(),
  percent: nullable(Percent),
  bytesDone: Bytes,
  bytesTotal: Bytes,
  secondsLeft: nullable(
    Type.Integer({ minimum: 0, description: 'seconds, at the present pace; null when nobody can say' }),
  ),
  startedAt: nullable(Time),
  finishedAt: nullable(Time),
  errors: Count,
  repairedBytes: Bytes,
  sentence: Type.String(),
});
export type Scan = Static<typeof Scan>;

export const PoolProperties = component('PoolProperties', {
  autoexpand: Type.Boolean({ description: 'the pool grows when all disks of a vdev have grown' }),
  autotrim: Type.Boolean({ description: 'free blocks are reported to the disks at once' }),
  comment: Type.String(),
  readOnly: Type.Boolean(),
});
export type PoolProperties = Static<typeof PoolProperties>;

export const VdevType = Type.Enum(['mirror', 'raidz1', 'raidz2', 'raidz3', 'stripe']);
export const VdevPlan = component('VdevPlan', { type: VdevType, disks: Type.Array(Type.String()) });
export type VdevPlan = Static<typeof VdevPlan>;

/** The disks of a tree of vdevs. */
export function leaves(vdevs: readonly Vdev[]): Vdev[] {
  return vdevs.flatMap((vdev) =>
    vdev.children.length > 0 ? leaves(vdev.children) : vdev.type === 'disk' ? [vdev] : [],
  );
}
