// A process of the appliance that ended as it should not have, as supportd describes it.
import { Count, component, type Static, Time, Type } from '../../base/schema/schema.ts';

export const Crash = component('Crash', {
  id: Type.String({ description: 'the fingerprint: the same crash has the same' }),
  kind: Type.Enum(['signal', 'fatal', 'kernel']),
  service: Type.String(),
  process: Type.String(),
  version: Type.String(),
  signal: Type.Optional(Type.String()),
  reason: Type.Optional(Type.String({ description: 'what the program itself said' })),
  firstAt: Time,
  lastAt: Time,
  count: Count,
  pid: Type.Optional(Type.Integer()),
  stacks: Type.String(),
  log: Type.Array(Type.String(), { description: 'the last lines of its log before' }),
  core: Type.Optional(Type.String({ description: 'where its newest core is kept' })),
  alert: Type.String({ description: 'what its alert is known by: the same from the moment it happened' }),
  recording: Type.Optional(
    Type.Boolean({ description: 'it has just happened: its core is being taken, and where it stood is not known yet' }),
  ),
  dismissed: Type.Boolean({ description: 'it was seen; it raises no alert until it happens again' }),
});
export type Crash = Static<typeof Crash>;
