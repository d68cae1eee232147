// A worksheet: a named page of charts. A chart is a statistic with its drill-down, or an expression over what was sent.

import { Problem } from '../../base/problems/schema.ts';
import { closed, component, Etag, Line, nullable, type Static, Time, Type } from '../../base/schema/schema.ts';
import { StatisticDataset, StatisticName } from '../../peers/statistics.ts';

const Text = (maxLength: number) => Type.String({ maxLength });

export const Chart = component('Chart', {
  id: Type.String({ minLength: 1, maxLength: 64, description: 'within its worksheet' }),
  statistic: Type.Optional(StatisticName),
  query: Type.Optional(Type.String({ minLength: 1, maxLength: 8192, description: 'PromQL, when it is no statistic' })),
  title: Type.Optional(Line({ maxLength: 200 })),
  unit: Type.Optional(Text(32)),
  display: Type.Optional(Type.Enum(['auto', 'stacked', 'lines', 'heatmap'])),
  scale: Type.Optional(Type.Enum(['auto', 'log', 'linear'])),
  trim: Type.Optional(
    Type.Number({ minimum: 0, maximum: 0.5, description: 'the share of outliers that is not drawn' }),
  ),
  limit: Type.Optional(Type.Number()),
  quantiles: Type.Optional(Type.Array(Type.Number({ minimum: 0, maximum: 1 }), { maxItems: 10 })),
  compare: Type.Optional(Type.Enum(['day', 'week'])),
  box: Type.Optional(
    closed(
      {
        start: Type.Number({ description: 'seconds since the epoch' }),
        end: Type.Number(),
        above: Type.Optional(Type.Number()),
        below: Type.Optional(Type.Number()),
      },
      { description: 'what is marked of a heatmap; without `above` or `below` it has no limit there' },
    ),
  ),
  highlight: Type.Optional(Type.Array(Text(2048), { maxItems: 20 })),
});
export type Chart = Static<typeof Chart>;

export const Annotation = component('Annotation', {
  time: Time,
  text: Line({ maxLength: 500 }),
  by: Text(128),
});
export type Annotation = Static<typeof Annotation>;

export const WorksheetVariable = component('WorksheetVariable', {
  name: Type.String({ pattern: '^[a-zA-Z][a-zA-Z0-9_]{0,63}$', description: 'stands in expressions as $name' }),
  label: Line({ maxLength: 200, description: 'the label whose values can be chosen' }),
  metric: Type.Optional(Line({ maxLength: 1024, description: 'only the values that its series have' })),
  several: Type.Boolean({ description: 'more than one value can be chosen' }),
  chosen: Type.Optional(
    Type.Array(Text(1024), { maxItems: 100, description: 'when the worksheet is opened; none or left out: all' }),
  ),
});
export type WorksheetVariable = Static<typeof WorksheetVariable>;

const content = {
  name: Line({ maxLength: 120 }),
  description: Text(2000),
  shared: Type.Boolean({ description: 'everybody may look at it; only its owner and administrators change it' }),
  rangeSeconds: Type.Number({ minimum: 10, maximum: 2 * 366 * 86_400 }),
  end: nullable(Type.Number({ description: 'seconds since the epoch; null: live' })),
  charts: Type.Array(Chart, { maxItems: 40 }),
  annotations: Type.Array(Annotation, { maxItems: 500 }),
  variables: Type.Optional(Type.Array(WorksheetVariable, { maxItems: 20 })),
};

export const WorksheetInput = component('WorksheetInput', content);
export type WorksheetInput = Static<typeof WorksheetInput>;

export const Worksheet = component('Worksheet', {
  ...content,
  id: Type.String(),
  etag: Etag,
  owner: Type.String(),
  ready: Type.Boolean({ description: 'came with the appliance: it can be copied, not changed' }),
  mayChange: Type.Boolean({ description: 'whether who asks may change it' }),
  createdAt: Time,
  updatedAt: Time,
});
export type Worksheet = Static<typeof Worksheet>;

/** What became of each statistic of a worksheet when it was suspended or resumed. */
export const WorksheetChange = component('WorksheetChange', {
  items: Type.Array(
    closed({
      statistic: Type.String(),
      dataset: nullable(StatisticDataset),
      problem: nullable(Problem),
    }),
  ),
});
export type WorksheetChange = Static<typeof WorksheetChange>;

/** A worksheet as a file: what another appliance takes in as it is. */
export const WorksheetFile = component('WorksheetFile', {
  format: Type.Enum(['cistern-worksheet']),
  version: Type.Integer({ minimum: 1, maximum: 1 }),
  worksheet: closed({
    ...content,
    shared: Type.Optional(content.shared),
  }),
});
export type WorksheetFile = Static<typeof WorksheetFile>;
