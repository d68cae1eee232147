// A pool, its vdevs and its last scan, as the storage page shows them.

import { closed, component, nullable, type Static, Type } from '../../base/schema/schema.ts';
import { LayoutId } from '../disks/index.ts';
import { Pool } from '../inventory/index.ts';

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
