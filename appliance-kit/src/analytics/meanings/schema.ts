// What people say of metrics that their senders do not.
import { closed, component, Etag, Line, nullable, type Static, Type } from '../../base/schema/schema.ts';

const said = {
  unit: Line({
    ...{ minLength: 0, maxLength: 40 },
    description:
      'what the values are measured in, as seconds, ms, bytes, %, or a word of your own; empty: as the sender says',
  }),
  description: Line({ minLength: 0, maxLength: 1000, description: 'what it means; empty: as the sender says' }),
  limit: nullable(Type.Number({ description: "where charts have a line, in the metric's unit" })),
};

export const MetricMeaningInput = closed(said, { $id: 'MetricMeaningInput' });
export type MetricMeaningInput = Static<typeof MetricMeaningInput>;

export const MetricMeaning = component('MetricMeaning', { name: Type.String(), ...said, etag: Etag });
export type MetricMeaning = Static<typeof MetricMeaning>;

export const byMetric = closed({ name: Type.String({ minLength: 1, maxLength: 1024 }) });
