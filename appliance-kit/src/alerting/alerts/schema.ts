// An alert: something that is, or was, wrong; with what it means, what to do, who was notified, and who works on it.
import {
  Count,
  closed,
  component,
  Etag,
  Labels,
  Line,
  nullable,
  type Static,
  Time,
  Type,
} from '../../base/schema/schema.ts';
import { RuleAction } from '../catalogue/rule-action.ts';
import { Severity } from '../catalogue/severity.ts';

export const DeliveryEvent = Type.Enum(['raise', 'clear', 'repost', 'escalate']);
export type DeliveryEvent = Static<typeof DeliveryEvent>;
export const Delivery = component('Delivery', {
  destinationId: Type.String(),
  destinationName: Type.String(),
  event: DeliveryEvent,
  state: Type.Enum(['waiting', 'delivered', 'failed']),
  attempts: Count,
  lastError: nullable(
    Type.String({ description: 'why it was not taken; of one that was not tried yet, why the one before it was not' }),
  ),
  at: Time,
  grouped: Type.Boolean({ description: 'one message reported this and others' }),
});
export type Delivery = Static<typeof Delivery>;

export const HistoryKind = Type.Enum([
  'acknowledged',
  'withdrawn',
  'suppressed',
  'released',
  'muted',
  'escalated',
  'action',
]);
export type HistoryKind = Static<typeof HistoryKind>;
export const AlertHistory = component('AlertHistory', {
  at: Time,
  kind: HistoryKind,
  by: nullable(Type.String({ description: 'a user or a token; null: the appliance' })),
  text: Type.String(),
});
export type AlertHistory = Static<typeof AlertHistory>;

export const Alert = component('Alert', {
  id: Type.String(),
  groupId: Type.String({ description: 'of those that were raised with it' }),
  class: Type.String({ description: 'stable, as threshold.exceeded' }),
  title: Type.String(),
  text: Type.String(),
  severity: Severity,
  state: Type.Enum(['active', 'cleared']),
  raisedAt: Time,
  clearedAt: nullable(Time),
  value: nullable(Type.Number()),
  limit: nullable(Type.Number()),
  unit: Type.String({ description: 'of value and limit, as seconds or bytes/s; empty when nobody knows it' }),
  labels: Labels,
  ruleId: nullable(Type.String()),
  ruleName: nullable(Type.String()),
  noData: Type.Boolean({ description: 'still active, but its series has stopped arriving' }),
  impact: Type.String(),
  response: Type.String(),
  action: Type.String(),
  page: Type.String({ description: 'the page of the UI to go to' }),
  acknowledged: nullable(
    component('Acknowledgement', { at: Time, by: Type.String(), note: Type.String() }, 'Who works on it'),
  ),
  silence: nullable(
    component('AlertSilence', { id: Type.String(), name: Type.String(), until: Time }, 'What holds it back now'),
  ),
  routedBy: nullable(Type.String({ description: 'what decided who is notified, in words' })),
  escalatesAt: nullable(Type.String({ description: 'ISO 8601: others are notified then, unless it is acknowledged' })),
  history: Type.Array(AlertHistory),
  deliveries: Type.Array(Delivery),
});
export type Alert = Static<typeof Alert>;

export const filter = {
  state: Type.Optional(Type.Enum(['active', 'all'])),
  severity: Type.Optional(Type.Array(Severity, { maxItems: 3 })),
  class: Type.Optional(Type.String({ maxLength: 100, description: 'a class, or the beginning of some: pool.*' })),
  search: Type.Optional(Type.String({ maxLength: 200, description: 'is in the title, the text or a label' })),
  from: Type.Optional(Type.Number({ minimum: 0, description: 'seconds: raised then or later' })),
  to: Type.Optional(Type.Number({ minimum: 0, description: 'seconds: raised before then' })),
};
export const AlertQuery = closed({
  ...filter,
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
  before: Type.Optional(Type.String({ maxLength: 64, description: 'the id of the last alert of the page before' })),
});
export type AlertQuery = Static<typeof AlertQuery>;
export const AlertExportQuery = closed({ ...filter, format: Type.Enum(['csv', 'json']) });
export type AlertExportQuery = Static<typeof AlertExportQuery>;

export const AcknowledgeInput = closed({ note: Line({ minLength: 0, maxLength: 1000 }) });

export const Escalation = component(
  'Escalation',
  {
    afterSeconds: Type.Integer({ minimum: 10, maximum: 30 * 86_400 }),
    destinations: Type.Array(Type.String({ maxLength: 64 }), { minItems: 1, maxItems: 100 }),
  },
  'Who is notified as well when it has not been acknowledged by then',
);
export type Escalation = Static<typeof Escalation>;

const route = {
  muted: Type.Boolean({ description: 'kept in the log, and not sent' }),
  destinations: Type.Array(Type.String({ maxLength: 64 }), { maxItems: 100, description: 'ids; empty = all' }),
  escalation: nullable(Escalation),
  actions: Type.Optional(Type.Array(RuleAction, { maxItems: 20, description: 'also of what is muted' })),
};
export const ClassRoute = component('ClassRoute', route);
export type ClassRoute = Static<typeof ClassRoute>;
export const AlertKind = component(
  'AlertKind',
  {
    class: Type.String(),
    etag: Etag,
    severities: Type.Array(Severity),
    title: Type.String({ description: 'of an alert as it could be' }),
    text: Type.String(),
    impact: Type.String(),
    response: Type.String(),
    action: Type.String(),
    visibleAfterSeconds: Count,
    transient: Type.Boolean({ description: 'an event that does not last: it is never active' }),
    optional: Type.Boolean({
      description: 'as long as it is muted and has no action it is not looked for, and not kept in the log either',
    }),
    explainedBy: Type.Array(Type.String(), { description: 'classes whose alerts explain this one' }),
    active: Count,
    lastRaisedAt: nullable(Time),
    ...route,
  },
  'A kind of alert that the appliance can raise, with where it goes',
);
export type AlertKind = Static<typeof AlertKind>;
