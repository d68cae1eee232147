// A service of the appliance, in the words both service managers share.
import { Count, component, nullable, type Static, Time, Type } from '../base/schema/schema.ts';

export const ServiceState = Type.Enum(['online', 'starting', 'stopped', 'failed', 'maintenance']);
export const Service = component('Service', {
  name: Type.String(),
  title: Type.String(),
  description: Type.String(),
  state: ServiceState,
  since: nullable(Time),
  pid: nullable(Type.Integer()),
  memoryBytes: nullable(Type.Integer()),
  cpuSeconds: nullable(Type.Number({ description: 'processor time since it was started' })),
  restarts: Count,
  needs: Type.Array(Type.String(), { description: 'what it is started after, and stands still without' }),
  reason: nullable(Type.String()),
  waitingFor: nullable(Type.String()),
});
export type Service = Static<typeof Service>;
