// What tracerd measures, as docs/api/tracerd.md has it, and the marks on a chart's time axis.

import { Bytes, closed, component, nullable, type Static, Time, Type } from '../../base/schema/schema.ts';
import { StatisticDataset, StatisticName } from '../../peers/statistics.ts';

export const MeasuredDataset = component('MeasuredDataset', {
  ...StatisticDataset.properties,
  size: nullable(
    closed(
      {
        diskBytes: Bytes,
        memoryBytes: Bytes,
        bytesPerHour: nullable(Type.Number({ minimum: 0, description: 'what it adds to the disk now, from its past' })),
      },
      { description: 'what is stored of it; null when storaged does not say' },
    ),
  ),
});
export type MeasuredDataset = Static<typeof MeasuredDataset>;

export const OneStatisticDataset = closed({ name: StatisticName });

export const StacksQuery = closed({
  seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 600 })),
});

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
