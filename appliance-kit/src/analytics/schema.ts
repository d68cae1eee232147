// What tracerd measures, as docs/INTERFACES.md has it ("tracerd: statistics"), and the marks on a chart's time axis.
import { Bytes, Count, closed, component, nullable, type Static, Time, Type } from '../http/schema/schema.ts';

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

export const MeasuredDataset = component('MeasuredDataset', {
  ...dataset,
  size: nullable(
    closed(
      {
        diskBytes: Bytes,
        memoryBytes: Bytes,
        bytesPerHour: nullable(Type.Number({ minimum: 0, description: 'what it adds to the disk now, from its past' })),
      },
      { description: 'what is stored of it; null when storaged does not tell' },
    ),
  ),
});
export type MeasuredDataset = Static<typeof MeasuredDataset>;

export const OneStatisticDataset = closed({ name: StatisticName });
export const RecordInput = component('RecordInput', { name: StatisticName, recording: Type.Boolean() });

export const StacksQuery = closed({
  name: StatisticName,
  seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 600 })),
});
export const Stacks = component('Stacks', {
  samples: Count,
  stacks: Type.Array(
    closed({ frames: Type.Array(Type.String(), { description: 'the outermost first' }), count: Count }),
  ),
});
export type Stacks = Static<typeof Stacks>;

export const MarksQuery = closed({
  from: Type.Number({ minimum: 0, description: 'seconds since the epoch, as /api/v1 has them' }),
  to: Type.Number({ minimum: 0, description: 'seconds since the epoch' }),
});
export const Mark = component('Mark', {
  time: Time,
  endTime: nullable(Time),
  kind: Type.Enum(['alert', 'snapshot', 'scrub', 'change']),
  severity: Type.Enum(['info', 'warning', 'critical']),
  title: Type.String(),
  detail: Type.String(),
  page: Type.String({ description: 'the page of the UI that says more' }),
});
export type Mark = Static<typeof Mark>;
export const Marks = closed({
  items: Type.Array(Mark, { description: 'the oldest first' }),
  leftOut: Type.Integer({ minimum: 0, description: 'how many more there are' }),
});
export type Marks = Static<typeof Marks>;
