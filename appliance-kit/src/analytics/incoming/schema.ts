// How what is sent here is, without that anybody wrote a rule.
import {
  Count,
  closed,
  component,
  Labels,
  nullable,
  Ratio,
  type Static,
  Time,
  Type,
} from '../../base/schema/schema.ts';

export const Incoming = component(
  'Incoming',
  {
    state: Type.Enum(['ok', 'info', 'warning']),
    sentence: Type.String(),
    hosts: nullable(
      closed({
        total: Type.Integer({ minimum: 0, description: 'that sent within the last day' }),
        silent: Count,
        names: Type.Array(closed({ name: Type.String(), silentSince: Time }), {
          description: 'the five of them that are silent longest',
        }),
        ageSeconds: Type.Number({ minimum: 0 }),
      }),
    ),
    slower: Type.Array(
      closed({
        metric: Type.String(),
        share: Type.Number({ ...Ratio, description: 'of the last hour that took longer than `limit`, 0 to 1' }),
        shareBefore: Type.Number({ ...Ratio, description: 'the same of the hour that it is compared with' }),
        count: Type.Number({ description: 'how many durations the last hour has' }),
        limit: Type.Number({ description: 'what 99 % did not exceed then, in the unit of the metric' }),
        against: Type.Enum(['week', 'day'], { description: 'the same hour a week ago, or yesterday' }),
      }),
    ),
    compared: Type.Integer({ minimum: 0, description: 'metrics of durations of which there was enough' }),
    comparedAt: nullable(Time),
  },
  'Whether those who send do, and whether what they measure takes longer than before',
);
export type Incoming = Static<typeof Incoming>;

export const WorstMoment = component(
  'WorstMoment',
  {
    metric: Type.String(),
    time: Time,
    value: Type.Number({ description: 'what 99 % of the five minutes up to then did not exceed' }),
    usual: Type.Number({ description: 'the median of that over the day' }),
    count: Type.Number({ description: 'how many durations these five minutes have' }),
    whom: nullable(Labels),
    log: Type.Array(closed({ time: Time, service: Type.String(), text: Type.String() }), {
      description: 'the last warnings and errors up to a minute after; for operators',
    }),
    note: nullable(Type.String({ description: 'why there is nothing of the log' })),
  },
  'When something that is sent here took longest, beside what is usual for it. `whom`: labels of the slowest series',
);
export type WorstMoment = Static<typeof WorstMoment>;
export const WorstMoments = closed({ items: Type.Array(WorstMoment), computedAt: nullable(Time) });
