// A pool, its vdevs and its last scan, as the storage page shows them.

import {
  Bytes,
  Count,
  closed,
  component,
  nullable,
  Percent,
  Ratio,
  type Static,
  Time,
  Type,
} from '../../http/schema/schema.ts';
import { LayoutId } from '../disks/schema.ts';

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
  autotrim: Type.Boolean({ description: 'disks are told at once which blocks are free' }),
  comment: Type.String(),
  readOnly: Type.Boolean(),
});
export type PoolProperties = Static<typeof PoolProperties>;

export const Pool = component('Pool', {
  name: Type.String(),
  state: PoolState,
  system: Type.Boolean({ description: 'the appliance itself lives on it' }),
  bytes: Bytes,
  allocated: Bytes,
  free: Bytes,
  fragmentation: nullable(Ratio),
  capacity: Ratio,
  sentence: Type.String(),
  status: nullable(Type.String({ description: "zpool's own words" })),
  action: nullable(Type.String({ description: "zpool's own words" })),
  scan: nullable(Scan),
  vdevs: Type.Array(Vdev),
  errors: Count,
  compression: nullable(Type.String()),
  compressRatio: nullable(Type.Number()),
  telemetry: Type.Boolean({ description: 'the telemetry store is on it' }),
  properties: PoolProperties,
  upgradable: Type.Boolean({ description: 'this system knows features that the pool does not use' }),
});
export type Pool = Static<typeof Pool>;

export const PoolList = closed(
  { items: Type.Array(Pool), ageSeconds: Type.Number(), error: nullable(Type.String()) },
  { $id: 'PoolList' },
);

export const Compression = Type.Enum(['off', 'lz4', 'zstd', 'gzip', 'lzjb', 'zle']);
const DiskIds = Type.Array(Type.String({ minLength: 1, maxLength: 256, description: "a disk's id" }), {
  minItems: 1,
  maxItems: 256,
});
/** Disks of a pool that hold none of its data by themselves; `special` holds its metadata. */
export const Beside = component('Beside', {
  kind: Type.Enum(['spare', 'log', 'cache', 'special']),
  layout: LayoutId,
  disks: DiskIds,
});
export type Beside = Static<typeof Beside>;
export const NewPool = component('NewPool', {
  name: Type.String({ maxLength: 255 }),
  layout: LayoutId,
  disks: DiskIds,
  beside: Type.Optional(
    Type.Array(Beside, { maxItems: 4, description: 'spares, and fast disks for its log, its cache, its metadata' }),
  ),
  compression: Type.Optional(Compression),
  telemetry: Type.Boolean(),
});
export type NewPool = Static<typeof NewPool>;
