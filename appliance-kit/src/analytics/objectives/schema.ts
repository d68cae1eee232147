// An objective: how large a part of what was measured has to be under a limit, and how it stands.
import { Count, closed, component, Etag, Line, nullable, type Static, Time, Type } from '../../base/schema/schema.ts';

const objective = {
  name: Line({ maxLength: 200 }),
  selector: Type.String({
    minLength: 1,
    maxLength: 4096,
    description: 'a selector of histograms; all series that match are merged',
  }),
  limit: Type.Number({ description: 'in the unit; what is exactly the limit is not under it' }),
  unit: Type.String({
    maxLength: 30,
    description: 'what the histograms are measured in, as s or bytes; empty: nothing',
  }),
  targetPercent: Type.Number({
    minimum: 1,
    maximum: 99.9999,
    description: 'how much of what was measured has to be under the limit',
  }),
  periodDays: Type.Integer({ minimum: 1, maximum: 366 }),
  population: Type.String({
    maxLength: 4096,
    description:
      'PromQL with one value: of how many it is told how many were beyond the limit, as people; empty: of what was measured',
  }),
};

export const ObjectiveInput = component('ObjectiveInput', objective);
export type ObjectiveInput = Static<typeof ObjectiveInput>;

export const ObjectiveStanding = component('ObjectiveStanding', {
  measuredAt: Time,
  start: Type.String({ description: 'ISO 8601: the full hour at which the period begins' }),
  sentence: Type.String(),
  count: Count,
  over: Type.Number({ minimum: 0, description: 'not under the limit' }),
  within: Type.Integer({ minimum: 0, description: 'in a bin that the limit divides: over is off by less than this' }),
  overBudget: Type.Number({ description: 'over, without what may be; negative: what is left' }),
  percent: nullable(Type.Number({ minimum: 0, maximum: 100, description: 'under the limit; null: nothing measured' })),
  approximate: Type.Boolean({ description: 'native histograms were converted' }),
  warnings: Type.Array(Type.String()),
  burns: Type.Array(
    closed({
      seconds: Count,
      over: Type.Number({ minimum: 0, description: 'not under the limit in this time' }),
      rate: nullable(Type.Number({ minimum: 0, description: '1: the budget lasts exactly for the period' })),
    }),
  ),
});
export type ObjectiveStanding = Static<typeof ObjectiveStanding>;

export const Objective = component('Objective', {
  id: Type.String(),
  etag: Etag,
  ...objective,
  standing: nullable(ObjectiveStanding),
  error: nullable(Type.String({ description: 'why it could not be measured last; the standing is older' })),
});
export type Objective = Static<typeof Objective>;

export const ReportQuery = closed({
  limit: Type.Optional(Type.Number({ description: 'instead of its own: the past by another limit' })),
});
export type ReportQuery = Static<typeof ReportQuery>;

const Seconds = Type.Integer({ description: 'seconds since the epoch' });

const ObjectivePeriod = component('ObjectivePeriod', {
  start: Seconds,
  count: Count,
  over: Type.Number({ minimum: 0 }),
  perThousand: nullable(
    Type.Number({ minimum: 0, description: 'beyond the limit, of 1,000 of the population; null: it is not known' }),
  ),
});

export const ObjectiveReport = component('ObjectiveReport', {
  limit: Type.Number(),
  standing: ObjectiveStanding,
  end: Seconds,
  stepSeconds: Count,
  windows: Type.Array(closed({ time: Seconds, count: Count, over: Type.Number({ minimum: 0 }), within: Count }), {
    description: 'those of the period in which something was measured; each begins at its time',
  }),
  period: ObjectivePeriod,
  before: ObjectivePeriod,
  population: Type.Array(closed({ time: Seconds, value: Type.Number() })),
  populationError: nullable(Type.String({ description: 'why the population is not known' })),
});
export type ObjectiveReport = Static<typeof ObjectiveReport>;
