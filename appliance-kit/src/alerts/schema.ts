// An alert: something that is, or was, wrong; with what it means and what to do.
import { Count, closed, component, Labels, nullable, type Static, Time, Type } from '../schema/schema.ts';
import { Severity } from '../thresholds/schema.ts';

export const DeliveryEvent = Type.Enum(['raise', 'clear', 'repost']);
export type DeliveryEvent = Static<typeof DeliveryEvent>;
export const Delivery = component('Delivery', {
  destinationId: Type.String(),
  destinationName: Type.String(),
  event: DeliveryEvent,
  state: Type.Enum(['waiting', 'delivered', 'failed']),
  attempts: Count,
  lastError: nullable(Type.String()),
  at: Time,
});
export type Delivery = Static<typeof Delivery>;

export const Alert = component('Alert', {
  id: Type.String(),
  class: Type.String({ description: 'stable, as threshold.exceeded' }),
  title: Type.String(),
  text: Type.String(),
  severity: Severity,
  state: Type.Enum(['active', 'cleared']),
  raisedAt: Time,
  clearedAt: nullable(Time),
  value: nullable(Type.Number()),
  limit: nullable(Type.Number()),
  labels: Labels,
  ruleId: nullable(Type.String()),
  ruleName: nullable(Type.String()),
  noData: Type.Boolean({ description: 'still active, but its series has stopped arriving' }),
  impact: Type.String(),
  response: Type.String(),
  action: Type.String(),
  page: Type.String({ description: 'the page of the UI to go to' }),
  deliveries: Type.Array(Delivery),
});
export type Alert = Static<typeof Alert>;

export const AlertQuery = closed({
  state: Type.Optional(Type.Enum(['active', 'all'])),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
  before: Type.Optional(Type.String({ maxLength: 64, description: 'the id of the last alert of the page before' })),
});
