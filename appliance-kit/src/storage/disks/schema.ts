// A disk as the storage page shows it, and the advice on how to lay several out.

import { Bytes, Count, closed, component, nullable, type Static, Type } from '../../base/schema/schema.ts';
import { VdevPlan } from '../../platform/pool.ts';
import { Disk } from '../inventory/index.ts';

export const LayoutId = Type.Enum(['mirror', 'mirror3', 'raidz1', 'raidz2', 'raidz3', 'stripe']);
export type LayoutId = Static<typeof LayoutId>;

export const Layout = component('Layout', {
  id: LayoutId,
  title: Type.String(),
  explanation: Type.String(),
  usableBytes: Bytes,
  survives: Count,
  allowed: Type.Boolean(),
  reason: nullable(Type.String({ description: 'why it is not allowed' })),
  vdevs: Type.Array(VdevPlan),
});
export type Layout = Static<typeof Layout>;

export const LayoutAdvice = component('LayoutAdvice', {
  recommended: Type.String({ description: 'the id of a layout; empty when none is allowed' }),
  warnings: Type.Array(Type.String({ description: 'for instance: the disks differ in size' })),
  layouts: Type.Array(Layout),
});
export type LayoutAdvice = Static<typeof LayoutAdvice>;

/** A disk's name may hold more than other names do. */
export const byDiskId = closed({ id: Type.String({ maxLength: 256 }) });
export const AdviceQuery = closed({
  disk: Type.Optional(Type.Array(Type.String({ maxLength: 256 }), { maxItems: 256 })),
});
/** How old a listing is: a dying disk may have kept us from reading it anew. */
export const DiskList = closed(
  { items: Type.Array(Disk), ageSeconds: Type.Number(), error: nullable(Type.String()) },
  { $id: 'DiskList' },
);
