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
  highlight: Type.Optional(Type.Array(Text(2048), { maxItems: 20 })),
});
export type Chart = Static<typeof Chart>;

export const Annotation = component('Annotation', {
  time: Time,
  text: Line({ maxLength: 500 }),
  by: Text(128),
});
export type Annotation = Static<typeof Annotation>;

const content = {
  name: Line({ maxLength: 120 }),
  description: Text(2000),
  shared: Type.Boolean({ description: 'everybody may look at it; only its owner and administrators change it' }),
  rangeSeconds: Type.Number({ minimum: 10, maximum: 2 * 366 * 86_400 }),
  end: nullable(Type.Number({ description: 'seconds since the epoch; null: live' })),
  charts: Type.Array(Chart, { maxItems: 40 }),
  annotations: Type.Array(Annotation, { maxItems: 500 }),
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
