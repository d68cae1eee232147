// Alerts that were raised together, as one thing.
import { Count, closed, component, Labels, Line, nullable, type Static, Time, Type } from '../../base/schema/schema.ts';
import { Severity } from '../catalogue/severity.ts';
import { Alert, filter } from './schema.ts';

export const AlertGroup = component(
  'AlertGroup',
  {
    id: Type.String({ description: 'stays the same, whatever becomes of its alerts' }),
    class: Type.String(),
    ruleId: nullable(Type.String()),
    ruleName: nullable(Type.String()),
    title: Type.String({ description: 'with how many there are, of how many series where that is known' }),
    text: Type.String({ description: 'of one alert what it says; of several what they have in common' }),
    severity: Type.Enum(['critical', 'warning', 'info'], {
      description: 'the worst of those that are active; of all, when none is',
    }),
    state: Type.Enum(['active', 'cleared'], { description: 'cleared: all of them are' }),
    firstAt: Time,
    lastAt: Time,
    clearedAt: nullable(Time),
    total: Type.Integer({ minimum: 1 }),
    active: Count,
    acknowledged: Type.Integer({ minimum: 0, description: 'active ones that somebody has acknowledged' }),
    cleared: Count,
    matching: Type.Integer({ minimum: 0, description: 'those that the filter of the question lets through' }),
    of: nullable(Type.Integer({ minimum: 1, description: 'series that the rule is about; null: not known' })),
    common: Labels,
    apart: Type.Array(
      closed({
        label: Type.String(),
        value: Type.String(),
        members: Type.Integer({ minimum: 1, description: 'alerts that have it' }),
        others: Type.Integer({ minimum: 0, description: 'series of the rule without an alert that have it' }),
      }),
      { description: 'what tells them from the series of the rule that are well, most telling first' },
    ),
    silence: nullable(
      component(
        'GroupSilence',
        { id: Type.String(), name: Type.String(), until: Time },
        'What holds back the first active one',
      ),
    ),
    impact: Type.String(),
    response: Type.String(),
    action: Type.String(),
    page: Type.String(),
    firstId: Type.String({ description: 'the alert that was raised first' }),
    alert: nullable(Alert),
  },
  'Alerts of one class, of thresholds of one rule, that were raised at most a minute after each other. `alert`: the only one there is',
);
export type AlertGroup = Static<typeof AlertGroup>;

const Took = closed({
  count: Type.Integer({ minimum: 0, description: 'bursts of which that is known' }),
  medianSeconds: nullable(Type.Number({ minimum: 0, description: 'half of them took no longer' })),
  p90Seconds: nullable(Type.Number({ minimum: 0, description: 'nine of ten took no longer' })),
});

export const AlertTimes = component(
  'AlertTimes',
  {
    month: Type.String({ pattern: '^\\d{4}-\\d{2}$', description: 'of UTC, in which the first alert was raised' }),
    class: nullable(Type.String({ description: 'null: all classes' })),
    bursts: Type.Integer({ minimum: 1, description: 'groups of alerts that were raised together' }),
    alerts: Type.Integer({ minimum: 1 }),
    told: Took,
    acknowledged: Took,
    cleared: Took,
  },
  'How long after the first alert of a burst a destination took the message, somebody acknowledged one, and the last was cleared',
);
export type AlertTimes = Static<typeof AlertTimes>;

export const AlertGroupQuery = closed({
  ...filter,
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200 })),
  before: Type.Optional(Type.String({ maxLength: 64, description: 'the id of the last group of the page before' })),
});
export type AlertGroupQuery = Static<typeof AlertGroupQuery>;

export const GroupAlertsQuery = closed({
  state: Type.Optional(Type.Enum(['active', 'all'])),
  search: filter.search,
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200 })),
  offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
});
export type GroupAlertsQuery = Static<typeof GroupAlertsQuery>;

/** A line of a group: what it has in common with the others is said of the group. */
export const GroupAlert = component('GroupAlert', {
  id: Type.String(),
  title: Type.String(),
  text: Type.String(),
  severity: Severity,
  state: Type.Enum(['active', 'cleared']),
  raisedAt: Time,
  clearedAt: nullable(Time),
  value: nullable(Type.Number()),
  unit: Type.String({ description: 'of the value, as seconds or bytes/s; empty when nobody knows it' }),
  labels: Labels,
  noData: Type.Boolean(),
  acknowledgedBy: nullable(Type.String()),
});
export type GroupAlert = Static<typeof GroupAlert>;
export const GroupAlerts = closed({ items: Type.Array(GroupAlert), total: Count });

export const SilenceGroupInput = closed({
  name: Line({ maxLength: 200, description: 'what it is for' }),
  end: Type.Integer({ minimum: 0, maximum: 99_999_999_999, description: 'seconds since the epoch' }),
});

export const AlertSummary = component(
  'AlertSummary',
  {
    critical: Count,
    warning: Count,
    info: Count,
    acknowledged: Count,
    groups: Type.Integer({ minimum: 0, description: 'groups with an active alert' }),
    worst: Type.Array(AlertGroup, { maxItems: 3, description: 'the worst of them, the newest of these first' }),
  },
  'What is active, in a few numbers',
);
export type AlertSummary = Static<typeof AlertSummary>;
