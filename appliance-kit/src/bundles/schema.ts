// A support bundle, as supportd describes it.
import { Bytes, component, nullable, Percent, type Static, Time, Type } from '../schema/schema.ts';

export const BundleStep = component('BundleStep', {
  name: Type.String(),
  category: Type.String(),
  state: Type.Enum(['waiting', 'running', 'done', 'failed', 'timeout']),
  error: Type.Optional(Type.String()),
  seconds: Type.Optional(Type.Number()),
  bytes: Type.Optional(Bytes),
});
export const Bundle = component('Bundle', {
  id: Type.String(),
  name: Type.String(),
  state: Type.Enum(['building', 'done', 'failed', 'cancelled']),
  createdAt: Time,
  finishedAt: Type.Optional(nullable(Time)),
  bytes: Bytes,
  percent: Percent,
  step: Type.Optional(nullable(Type.String())),
  steps: Type.Array(BundleStep),
  sha256: Type.Optional(nullable(Type.String())),
});
export type Bundle = Static<typeof Bundle>;
export const NewBundle = component('NewBundle', {
  categories: Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 64 })),
});
