// A recording rule: an expression whose result is stored as a metric of its own, and how its evaluation goes.
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

const rule = {
  name: Line({ maxLength: 200, description: 'the metric that the result becomes: letters, digits, _ and :' }),
  group: Line({
    maxLength: 100,
    description: 'rules of a group are evaluated one after the other, in the order of the list',
  }),
  expression: Type.String({ minLength: 1, maxLength: 8192, description: 'PromQL' }),
  labels: Type.Record(Type.String({ maxLength: 256 }), Type.String({ maxLength: 2048 }), {
    maxProperties: 60,
    description: 'added to every series of the result; an empty value removes a label',
  }),
  intervalSeconds: Type.Integer({ minimum: 1, maximum: 3600 }),
  description: Type.String({ maxLength: 1000 }),
  enabled: Type.Boolean(),
};

export const RecordingRuleInput = component('RecordingRuleInput', rule);
export type RecordingRuleInput = Static<typeof RecordingRuleInput>;

export const RecordingRuleFill = component('RecordingRuleFill', {
  state: Type.Enum(['waiting', 'running', 'done', 'cancelled', 'failed']),
  from: Time,
  to: Time,
  percent: Type.Number({ minimum: 0, maximum: 100 }),
  samples: Count,
  refused: Type.Integer({ minimum: 0, description: 'samples that the store did not take' }),
  error: nullable(Type.String({ description: 'why it ended, or what was refused' })),
  startedAt: Time,
  endedAt: nullable(Time),
});
export type RecordingRuleFill = Static<typeof RecordingRuleFill>;

export const RecordingRuleState = component('RecordingRuleState', {
  evaluatedAt: nullable(Time),
  recordedAt: nullable(Type.String({ description: 'the time of the last result, a multiple of the interval' })),
  durationSeconds: Type.Number({ minimum: 0 }),
  samples: Type.Integer({ minimum: 0, description: 'of the last evaluation' }),
  histograms: Type.Integer({ minimum: 0, description: 'of these' }),
  error: nullable(Type.String({ description: 'of the last evaluation' })),
  errorSince: nullable(Time),
  evaluations: Type.Integer({ minimum: 0, description: 'since storaged was started' }),
  failures: Count,
  missed: Type.Integer({ minimum: 0, description: 'evaluations that were not made in time, nor made up' }),
  refused: nullable(
    closed(
      { reason: Type.String(), detail: Type.String(), samples: Count },
      { description: 'what the store did not take of the last result' },
    ),
  ),
});
export type RecordingRuleState = Static<typeof RecordingRuleState>;

export const RecordingRule = component('RecordingRule', {
  id: Type.String(),
  etag: Etag,
  ...rule,
  fromFile: Type.Boolean({ description: 'of a rule file that storaged reads at its start: it is not changed here' }),
  state: nullable(RecordingRuleState),
  fill: nullable(RecordingRuleFill),
});
export type RecordingRule = Static<typeof RecordingRule>;

export const RecordingRulePreviewInput = component('RecordingRulePreviewInput', {
  ...rule,
  id: Type.Optional(Type.String({ maxLength: 64, description: 'of the rule that is changed' })),
});
export type RecordingRulePreviewInput = Static<typeof RecordingRulePreviewInput>;

const Fault = closed({
  field: Type.Enum(['name', 'group', 'expression', 'labels', 'intervalSeconds', 'description', 'rules', 'id']),
  message: Type.String(),
  at: nullable(closed({ line: Count, column: Count }, { description: 'where in the expression, both from 1' })),
});

export const RecordingRulePreview = component('RecordingRulePreview', {
  faults: Type.Array(Fault),
  warnings: Type.Array(Type.String()),
  total: Type.Integer({ minimum: 0, description: 'series that it would write now' }),
  series: Type.Array(
    closed({
      labels: Labels,
      value: nullable(Type.Number()),
      histogram: nullable(closed({ count: nullable(Type.Number()), sum: nullable(Type.Number()) })),
    }),
  ),
});
export type RecordingRulePreview = Static<typeof RecordingRulePreview>;

export const RecordingRuleFile = component('RecordingRuleFile', {
  text: Type.String({ minLength: 1, maxLength: 900_000, description: 'a rule file of Prometheus, YAML' }),
});

export const RecordingRuleImport = component('RecordingRuleImport', {
  items: Type.Array(RecordingRule),
  notTaken: Type.Array(
    closed({
      line: nullable(Type.Integer({ minimum: 1 })),
      what: Type.String(),
      reason: Type.String(),
    }),
  ),
});
export type RecordingRuleImport = Static<typeof RecordingRuleImport>;

export const RecordingRuleFillInput = component('RecordingRuleFillInput', {
  from: Time,
});
export type RecordingRuleFillInput = Static<typeof RecordingRuleFillInput>;
