// What tracerd answers, as docs/api/tracerd.md has it.
import { Count, closed, component, nullable, type Static, Time, Type } from '../base/schema/schema.ts';

/** `io.ops[disk=sda][latency]`; tracerd reads it and says what is wrong with it, at which column. */
export const StatisticName = Type.String({
  minLength: 1,
  maxLength: 4096,
  description: 'STAT[FILTER=VALUE]…[BREAKDOWN]',
});

export const Breakdown = component('Breakdown', {
  name: Type.String(),
  title: Type.String(),
  kind: Type.Enum(['value', 'distribution', 'filter'], { description: 'filter: only narrows' }),
  unit: Type.String(),
  filterable: Type.Boolean(),
  always: Type.Optional(Type.Boolean({ description: 'is measured from the start' })),
  values: Type.Array(Type.String(), { description: 'when they are few and known' }),
});
export type Breakdown = Static<typeof Breakdown>;

export const Statistic = component('Statistic', {
  name: Type.String(),
  title: Type.String(),
  unit: Type.String({ description: 'operations, bytes, seconds, percent, count, …' }),
  kind: Type.Enum(['amount', 'level']),
  group: Type.String(),
  explanation: closed({
    check: Type.String({ description: 'when to look at it' }),
    read: Type.String({ description: 'how to read it' }),
    next: Type.Array(Type.String(), { description: 'names of statistics to go on to' }),
  }),
  source: Type.Enum(['counter', 'dtrace', 'log']),
  cost: Type.Enum(['none', 'low', 'medium', 'high']),
  alwaysOn: Type.Boolean(),
  available: Type.Boolean(),
  reason: nullable(Type.String({ description: 'why it is not available' })),
  breakdowns: Type.Array(Breakdown),
});
export type Statistic = Static<typeof Statistic>;

const dataset = {
  name: Type.String({ description: 'canonical' }),
  statistic: Type.String(),
  filters: Type.Array(Type.Array(Type.String(), { minItems: 2, maxItems: 2, description: 'name, value' })),
  breakdown: nullable(Type.String()),
  kind: Type.Enum(['series', 'histogram', 'stacks']),
  unit: Type.String(),
  metric: Type.String(),
  selector: Type.String({ description: 'PromQL: everything of it' }),
  state: Type.Enum(['starting', 'recording', 'suspended', 'failed', 'stopped']),
  overBudget: Type.Boolean({ description: 'it was suspended because tracing took too much of the processor' }),
  since: Time,
  reason: nullable(Type.String()),
  recorded: Type.Boolean({ description: 'goes on when nobody looks' }),
  watched: Type.Boolean(),
  cpuRatio: Type.Number({ minimum: 0, description: 'of one core, in the last minute' }),
  samples: Count,
  seriesNow: Count,
  drops: Count,
  restarts: Count,
  restIncluded: Type.Boolean({ description: 'there were more values than are kept apart; the rest is summed' }),
};
export const StatisticDataset = component('StatisticDataset', dataset);
export type StatisticDataset = Static<typeof StatisticDataset>;

export const Stacks = component('Stacks', {
  samples: Count,
  stacks: Type.Array(
    closed({ frames: Type.Array(Type.String(), { description: 'the outermost first' }), count: Count }),
  ),
});
export type Stacks = Static<typeof Stacks>;
