// The answer to "how is it?": one sentence, how bad, what next, and the parts it was made of.

import { IncomingDocument } from '../../analytics/incoming/index.ts';
import { Bytes, Count, closed, component, nullable, Ratio, type Static, Time, Type } from '../../base/schema/schema.ts';
import { PoolState } from '../../platform/pool.ts';

export const Condition = Type.Enum(['ok', 'info', 'warning', 'critical']);
export type Condition = Static<typeof Condition>;
export const StatusPart = component('StatusPart', {
  name: Type.String(),
  title: Type.String(),
  state: Condition,
  sentence: Type.String(),
  page: Type.String(),
});
export type StatusPart = Static<typeof StatusPart>;
export const Status = component('Status', {
  sentence: Type.String(),
  severity: Condition,
  next: nullable(closed({ text: Type.String(), page: Type.String() })),
  parts: Type.Array(StatusPart),
  pools: Type.Array(
    component('PoolBrief', {
      name: Type.String(),
      state: PoolState,
      system: Type.Boolean(),
      telemetry: Type.Boolean(),
      bytes: Bytes,
      allocated: Bytes,
      capacity: Ratio,
      sentence: Type.String(),
    }),
  ),
  incoming: IncomingDocument,
  alerts: closed({ critical: Count, warning: Count, info: Count }),
  ingest: closed({
    samplesPerSecond: Type.Number(),
    rejectedPerSecond: Type.Number(),
    series: Count,
    available: Type.Boolean(),
  }),
  hostName: Type.String(),
  version: Type.String(),
  uptimeSeconds: Type.Number(),
  time: Time,
});
export type Status = Static<typeof Status>;
