// What changed; the client then reads it anew.
import { component, type Static, Type } from '../../base/schema/schema.ts';

export const Topic = Type.Enum([
  'pools',
  'disks',
  'datasets',
  'services',
  'alerts',
  'alert-classes',
  'silences',
  'jobs',
  'bundles',
  'thresholds',
  'destinations',
  'setup',
  'status',
  'analytics',
  'worksheets',
  'crashes',
]);
export type Topic = Static<typeof Topic>;
export const Change = component('Change', { topic: Topic, id: Type.Optional(Type.String()) });
export type Change = Static<typeof Change>;
