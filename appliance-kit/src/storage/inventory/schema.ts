// A disk and a pool, as the storage pages show them.
import { Bytes, Count, component, Etag, nullable, Ratio, type Static, Type } from '../../base/schema/schema.ts';
import { PoolProperties, PoolState, Scan, Vdev } from '../../platform/pool.ts';

export const DiskState = Type.Enum(['available', 'in_pool', 'system', 'in_use', 'too_small']);

export const Disk = component('Disk', {
  id: Type.String({ description: 'its stable name' }),
  path: Type.String(),
  model: Type.String(),
  serial: Type.String(),
  wwn: nullable(Type.String({ description: 'its world-wide name; null: it has none' })),
  place: nullable(Type.String({ description: 'where it is plugged in: the same for whatever disk is there' })),
  bytes: Bytes,
  bus: Type.String(),
  rotational: nullable(Type.Boolean()),
  state: DiskState,
  reason: nullable(Type.String({ description: "why it can't be used, in words" })),
  pool: nullable(Type.String()),
  vdev: nullable(Type.String()),
});
export type Disk = Static<typeof Disk>;

export const Pool = component('Pool', {
  name: Type.String(),
  etag: Etag,
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
