// How long measurements are kept, by granularity.
import { Count, closed, Etag, type Static, Type } from '../../base/schema/schema.ts';

const DAY = 86_400;
const seconds = (description: string) =>
  Type.Integer({ minimum: DAY, maximum: 200 * 365 * DAY, description: `${description}, in seconds` });

const kept = {
  rawSeconds: seconds('how long measurements are kept as they came, one a second or finer'),
  minuteSeconds: seconds('how long their sums and histograms of a minute are kept; not shorter than rawSeconds'),
  hourSeconds: seconds('how long those of an hour are kept; not shorter than minuteSeconds'),
};

export const RetentionInput = closed(kept, { $id: 'RetentionInput' });
export type RetentionInput = Static<typeof RetentionInput>;

export const Retention = closed(
  {
    ...kept,
    etag: Etag,
    stored: closed({
      rawBytes: Count,
      rollupBytes: Count,
      oldest: Type.Union([Type.Number(), Type.Null()], {
        description: 'the time of the oldest measurement on disk, seconds since the epoch; null: none is on disk yet',
      }),
    }),
  },
  { $id: 'Retention' },
);
export type Retention = Static<typeof Retention>;
