// What was found around an alert when it was raised.
import { Mark } from '../../analytics/statistics/index.ts';
import { Count, closed, component, Labels, nullable, type Static, Time, Type } from '../../base/schema/schema.ts';
import { LogLine } from '../../system/logs/index.ts';
import { Neighbours } from '../alerts/index.ts';

const Note = nullable(Type.String({ description: 'why there is nothing, or not everything; a sentence' }));

export const AlertChart = component(
  'AlertChart',
  {
    title: Type.String(),
    expression: Type.String({ description: 'PromQL of the value' }),
    alone: Type.Boolean({ description: 'the expression gives the series of the alert alone, and not those beside it' }),
    histogram: nullable(Type.String({ description: 'a selector of what the value is made of: drawn as a heatmap' })),
    limit: nullable(Type.Number()),
    from: Type.Number({ description: 'seconds since the epoch' }),
    to: nullable(Type.Number({ description: 'seconds since the epoch; null: it is still going on' })),
  },
  'What the alert is about, to be drawn',
);
export type AlertChart = Static<typeof AlertChart>;

export const ChangedSeries = component(
  'ChangedSeries',
  {
    labels: Labels,
    measure: Type.Enum(['value', 'rate', 'median'], {
      description: 'what before and after are: of a counter its rate a second, of a histogram the median',
    }),
    before: Type.Number(),
    after: Type.Number(),
    score: Type.Number({ description: 'by how many times its usual deviation it has moved, 1000 at most' }),
    shares: Type.Array(Type.String(), { description: 'labels in which it has the values of the alert' }),
    alike: Type.Integer({ minimum: 0, description: 'how many more series of this metric have changed' }),
    query: Type.String({ description: 'PromQL to draw it by; of a histogram a selector' }),
  },
  'A series that changed before the alert was raised',
);
export type ChangedSeries = Static<typeof ChangedSeries>;

const Some = closed({ count: Count, names: Type.Array(Type.String(), { description: 'the first of them' }) });

const kept = {
  series: closed({
    items: Type.Array(ChangedSeries, {
      description: 'what changed most, first; those that share labels before others',
    }),
    compared: Count,
    of: Type.Integer({ minimum: 0, description: 'how many there were that could have been compared' }),
    began: Some,
    ended: Some,
    from: Time,
    to: Time,
    baselineFrom: Time,
    note: Note,
  }),
  marks: closed({ items: Type.Array(Mark), leftOut: Count, note: Note }),
  log: closed({ items: Type.Array(LogLine, { description: 'the oldest first' }), leftOut: Count, note: Note }),
};
/** What is kept with the alert: all that will not be there later. */
export const Kept = closed(kept);
export type Kept = Static<typeof Kept>;

export const AlertFindings = component(
  'AlertFindings',
  {
    state: Type.Enum(['waiting', 'partial', 'complete', 'none'], {
      description: 'partial: looked for again a minute after the raise; none: it was not looked for, and will not be',
    }),
    computedAt: nullable(Time),
    insteadOf: nullable(
      closed(
        { id: Type.String(), title: Type.String() },
        { description: 'of many alerts at once only the first are looked into: this one’s findings are those of it' },
      ),
    ),
    chart: nullable(AlertChart),
    ...{ series: nullable(kept.series), marks: nullable(kept.marks), log: nullable(kept.log) },
    neighbours: Type.Array(Neighbours, { description: 'raised from 15 minutes before to 15 minutes after' }),
  },
  'What was found around an alert',
);
export type AlertFindings = Static<typeof AlertFindings>;
