// The ways in for samples. What an input takes is described in docs/api/inputs.md.
import { Count, closed, component, Etag, Line, nullable, type Static, Time, Type } from '../../base/schema/schema.ts';

const Rate = (description: string) =>
  Type.Integer({ minimum: 0, maximum: 1_000_000_000, description: `${description}; 0: no limit` });

const settings = {
  enabled: Type.Boolean({ description: 'off: its ports are closed, and over HTTP it refuses' }),
  networks: Type.Array(Line({ maxLength: 49 }), {
    maxItems: 100,
    description: 'addresses and networks that may send, as 192.0.2.0/24; none: everybody',
  }),
  seriesPerSecond: Rate('how many new series all senders together may make each second on average'),
  seriesBurst: Type.Integer({ minimum: 0, maximum: 1_000_000_000, description: 'how many of them at once' }),
  senderSeriesPerSecond: Rate('how many new series one address may make each second on average'),
  senderSeriesBurst: Type.Integer({ minimum: 0, maximum: 1_000_000_000, description: 'how many of them at once' }),
};

export const InputSettings = closed(settings, { $id: 'InputSettings' });
export type InputSettings = Static<typeof InputSettings>;

const Refused = Type.Record(Type.String(), Count, { description: 'samples, packets or requests, by reason' });

export const Sender = component('InputSender', {
  address: Type.String({
    description: 'of IPv6 its network of 64 bits; `others`: those that are not told apart any more',
  }),
  newSeries: Count,
  refused: Refused,
  lastAt: nullable(Time),
});

export const Input = component('Input', {
  name: Type.String(),
  ...settings,
  etag: Etag,
  listens: Type.Array(Type.String(), { description: 'HOST:PORT; empty: over HTTPS only, or off' }),
  newSeries: Count,
  refused: Refused,
  senders: Type.Array(Sender, {
    description: 'those that made new series or were refused within an hour: the worst first, twenty at most',
  }),
});
export type Input = Static<typeof Input>;

export const InputName = closed({ name: Type.String({ maxLength: 40 }) });
