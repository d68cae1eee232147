// A disk as the storage page shows it, and the advice on how to lay several out.
import { Bytes, Count, closed, component, nullable, type Static, Type } from '../../http/schema/schema.ts';

export const DiskState = Type.Enum(['available', 'in_pool', 'system', 'in_use', 'too_small']);

export const Disk = component('Disk', {
  id: Type.String({ description: 'its stable name' }),
  path: Type.String(),
  model: Type.String(),
  serial: Type.String(),
  bytes: Bytes,
  bus: Type.String(),
  rotational: nullable(Type.Boolean()),
  state: DiskState,
  reason: nullable(Type.String({ description: "why it can't be used, in words" })),
  pool: nullable(Type.String()),
  vdev: nullable(Type.String()),
});
export type Disk = Static<typeof Disk>;

export const VdevType = Type.Enum(['mirror', 'raidz1', 'raidz2', 'raidz3', 'stripe']);
export const VdevPlan = component('VdevPlan', { type: VdevType, disks: Type.Array(Type.String()) });
export type VdevPlan = Static<typeof VdevPlan>;

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

export const AdviceQuery = closed({
  disk: Type.Optional(Type.Array(Type.String({ maxLength: 256 }), { maxItems: 256 })),
});
/** How old a listing is: a dying disk may have kept us from reading it anew. */
export const DiskList = closed(
  { items: Type.Array(Disk), ageSeconds: Type.Number(), error: nullable(Type.String()) },
  { $id: 'DiskList' },
);
