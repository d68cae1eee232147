// A rule over a PromQL expression, and the state of each series it matches.

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
import { RuleAction } from '../actions/index.ts';
import { Severity } from '../catalogue/severity.ts';

/** Ten years: longer than any rule means, and far from where a sum of milliseconds loses its exactness. */
const Seconds = Type.Integer({ minimum: 0, maximum: 315_360_000 });
const condition = {
  expression: Type.String({ minLength: 1, maxLength: 8192, description: 'PromQL' }),
  direction: Type.Enum(['above', 'below', 'outside'], {
    description: 'outside: above raise or below raiseBelow; between them a value is as it is expected',
  }),
  raise: Type.Number(),
  clear: Type.Number(),
  raiseBelow: Type.Optional(Type.Number({ description: 'outside: the lower end of the band' })),
  clearBelow: Type.Optional(
    Type.Number({ description: 'outside: above which it is well again; left out: raiseBelow' }),
  ),
};

export const RuleForm = component(
  'RuleForm',
  {
    kind: Type.Enum(['rate', 'ratio', 'change', 'over-limit'], {
      description:
        'rate: how quickly a counter grows; ratio: of two rates, metric ÷ to; change: by how much a value changed; ' +
        'over-limit: how many measurements of a histogram were slower than slowerThan',
    }),
    metric: Type.String({ minLength: 1, maxLength: 1024, description: 'a metric, with labels or without' }),
    to: Type.Optional(Type.String({ maxLength: 1024, description: 'ratio: what it is divided by' })),
    slowerThan: Type.Optional(Type.Number({ description: 'over-limit: in the unit of the histogram, mostly seconds' })),
    overSeconds: Type.Integer({ minimum: 1, maximum: 30 * 86_400 }),
    by: Type.Array(Type.String({ maxLength: 100 }), { maxItems: 20, description: 'labels: one series for each value' }),
  },
  'A ready form of what a rule watches; the appliance makes the expression of it',
);
export type RuleForm = Static<typeof RuleForm>;

const ClockTime = Type.String({ pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$', description: 'HH:MM' });
export const Hours = component(
  'Hours',
  {
    days: Type.Array(Type.Integer({ minimum: 0, maximum: 6 }), {
      minItems: 1,
      maxItems: 7,
      description: '0 is Sunday',
    }),
    from: ClockTime,
    to: ClockTime,
    timeZone: Type.String({ maxLength: 64, description: 'as Europe/Berlin' }),
  },
  'When a rule raises alerts; before the beginning when `to` is, on the next day. What is active stays so and clears at any time',
);
export type Hours = Static<typeof Hours>;

const rule = {
  name: Line({ maxLength: 200 }),
  ...condition,
  form: Type.Optional(nullable(RuleForm)),
  raiseForSeconds: Seconds,
  clearForSeconds: Seconds,
  repostSeconds: Type.Integer({ minimum: 0, maximum: 315_360_000, description: '0 = never again while active' }),
  noDataSeconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 30 * 86_400,
      description: 'an alert of its own when a series has had no value for so long; 0 = never',
    }),
  ),
  hours: Type.Optional(nullable(Hours)),
  severity: Severity,
  enabled: Type.Boolean(),
  destinations: Type.Array(Type.String({ maxLength: 64 }), {
    maxItems: 1000,
    description: 'ids; empty = as its class',
  }),
  escalation: Type.Optional(
    nullable(
      closed({
        afterSeconds: Type.Integer({ minimum: 10, maximum: 30 * 86_400 }),
        destinations: Type.Array(Type.String({ maxLength: 64 }), { minItems: 1, maxItems: 100 }),
      }),
    ),
  ),
  actions: Type.Optional(Type.Array(RuleAction, { maxItems: 20 })),
};

export const SeriesState = Type.Enum(['ok', 'raising', 'active', 'clearing', 'no_data']);
export type SeriesState = Static<typeof SeriesState>;
export const ThresholdSeries = component('ThresholdSeries', {
  labels: Labels,
  value: nullable(Type.Number()),
  state: SeriesState,
  since: Time,
});
export type ThresholdSeries = Static<typeof ThresholdSeries>;

const ErrorPlace = nullable(
  closed(
    { line: Count, column: Count },
    { description: 'where in the expression, both from 1; null: nowhere in particular' },
  ),
);

export const Threshold = component('Threshold', {
  id: Type.String(),
  etag: Etag,
  ...rule,
  state: component('ThresholdState', {
    evaluatedAt: nullable(Time),
    error: nullable(Type.String()),
    errorAt: ErrorPlace,
    unit: Type.String({
      description: 'what is watched is measured in, as seconds or bytes/s; empty when nobody knows it',
    }),
    series: Type.Array(ThresholdSeries),
  }),
});
export type Threshold = Static<typeof Threshold>;

export const ThresholdInput = component('ThresholdInput', rule);
export type ThresholdInput = Static<typeof ThresholdInput>;

export const ForgetInput = closed({ labels: Labels });

export const ThresholdPreviewInput = component('ThresholdPreviewInput', {
  ...condition,
  form: rule.form,
  raiseForSeconds: Type.Optional(Seconds),
  clearForSeconds: Type.Optional(Seconds),
  repostSeconds: Type.Optional(Seconds),
  noDataSeconds: rule.noDataSeconds,
  hours: rule.hours,
  rangeSeconds: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 31 * 86_400, description: 'how much of the past it is run over; 0: none' }),
  ),
});
export type ThresholdPreviewInput = Static<typeof ThresholdPreviewInput>;
export const Firing = component('Firing', {
  labels: Labels,
  kind: Type.Enum(['limit', 'no_data']),
  raisedAt: Time,
  clearedAt: nullable(Time),
  worst: nullable(Type.Number({ description: 'the value farthest beyond the limit' })),
  messages: Type.Integer({ minimum: 1, description: 'raise, reminders and all-clear' }),
});
export type Firing = Static<typeof Firing>;
export const ThresholdPreview = component('ThresholdPreview', {
  expression: Type.String({ description: 'what is evaluated, when it was given as a form' }),
  series: Type.Array(closed({ labels: Labels, value: nullable(Type.Number()), wouldBe: Type.Enum(['ok', 'active']) })),
  error: nullable(Type.String({ description: "PromQL's own message" })),
  errorAt: ErrorPlace,
  warnings: Type.Array(Type.String()),
  past: nullable(
    closed({
      from: Time,
      to: Time,
      stepSeconds: Type.Number({ description: 'what lies between two of them is not seen' }),
      series: Count,
      firings: Type.Array(Firing),
      leftOut: Type.Integer({ minimum: 0, description: 'firings that are not listed' }),
    }),
  ),
});
export type ThresholdPreview = Static<typeof ThresholdPreview>;
