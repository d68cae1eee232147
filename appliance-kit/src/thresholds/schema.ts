// A rule over a PromQL expression, and the state of each series it matches.
import { closed, component, Labels, Line, nullable, type Static, Time, Type } from '../schema/schema.ts';

export const Severity = Type.Enum(['critical', 'warning', 'info']);
export type Severity = Static<typeof Severity>;

/** Ten years: longer than any rule means, and far from where a sum of milliseconds loses its exactness. */
const Seconds = Type.Integer({ minimum: 0, maximum: 315_360_000 });
const condition = {
  expression: Type.String({ minLength: 1, maxLength: 8192, description: 'PromQL' }),
  direction: Type.Enum(['above', 'below']),
  raise: Type.Number(),
  clear: Type.Number(),
};
const rule = {
  name: Line({ maxLength: 200 }),
  ...condition,
  raiseForSeconds: Seconds,
  clearForSeconds: Seconds,
  repostSeconds: Type.Integer({ minimum: 0, maximum: 315_360_000, description: '0 = never again while active' }),
  severity: Severity,
  enabled: Type.Boolean(),
  destinations: Type.Array(Type.String({ maxLength: 64 }), { maxItems: 1000, description: 'ids; empty = all' }),
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

export const Threshold = component('Threshold', {
  id: Type.String(),
  ...rule,
  state: component('ThresholdState', {
    evaluatedAt: nullable(Time),
    error: nullable(Type.String()),
    series: Type.Array(ThresholdSeries),
  }),
});
export type Threshold = Static<typeof Threshold>;

export const ThresholdInput = component('ThresholdInput', rule);
export type ThresholdInput = Static<typeof ThresholdInput>;

export const ThresholdPreviewInput = component('ThresholdPreviewInput', condition);
export const ThresholdPreview = component('ThresholdPreview', {
  series: Type.Array(closed({ labels: Labels, value: nullable(Type.Number()), wouldBe: Type.Enum(['ok', 'active']) })),
  error: nullable(Type.String({ description: "PromQL's own message" })),
});
export type ThresholdPreview = Static<typeof ThresholdPreview>;
