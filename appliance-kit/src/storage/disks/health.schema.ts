// How a disk says that it is, and what can be asked of it.
import { Count, closed, component, nullable, type Static, Type } from '../../base/schema/schema.ts';

export const DiskHealth = component('DiskHealth', {
  lit: Type.Boolean({ description: 'the light of its slot is on' }),
  supported: Type.Boolean({ description: 'whether the disk can be asked at all; virtual ones cannot' }),
  firmware: nullable(Type.String({ description: 'the version of its own program, as it states it' })),
  passed: nullable(Type.Boolean()),
  temperatureCelsius: nullable(Type.Number({ description: '°C' })),
  powerOnHours: nullable(Count),
  wearRatio: nullable(Type.Number({ minimum: 0, description: 'ratio, 0..1 and beyond: of the writes it is made for' })),
  reallocatedSectors: nullable(Count),
  pendingSectors: nullable(Count),
  testRunning: nullable(closed({ percent: Type.Number() })),
  selfTests: Type.Array(
    component('DiskSelfTest', {
      kind: Type.String(),
      result: Type.String(),
      passed: nullable(Type.Boolean()),
      atPowerOnHours: nullable(Count),
    }),
  ),
  sentence: Type.String(),
  ageSeconds: Type.Number(),
  error: nullable(Type.String()),
});
export type DiskHealth = Static<typeof DiskHealth>;
export const SelfTestInput = component('SelfTestInput', { kind: Type.Enum(['short', 'long', 'abort']) });
export const LocateInput = closed({ on: Type.Boolean() });
