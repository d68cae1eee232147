// The ways in for samples. What an input takes is described in docs/api/inputs.md.
import { Count, closed, component, Etag, Line, nullable, type Static, Time, Type } from '../../base/schema/schema.ts';

const Rate = (description: string) =>
  Type.Integer({ minimum: 0, maximum: 1_000_000_000, description: `${description}; 0: no limit` });

const Port = (description: string) => nullable(Type.Integer({ minimum: 0, maximum: 65_535, description }));

const Place = Line({ maxLength: 49 });
const HostName = Line({ minLength: 1, maxLength: 200, description: 'becomes the label `host`' });

const settings = {
  enabled: Type.Boolean({ description: 'off: its ports are closed, and over HTTP it refuses' }),
  networks: Type.Array(Line({ maxLength: 49 }), {
    maxItems: 100,
    description:
      'addresses and networks that may send, as 192.0.2.0/24, and `own` for those that the appliance has an address in; none: everybody',
  }),
  seriesPerSecond: Rate('how many new series all senders together may make each second on average'),
  seriesBurst: Type.Integer({ minimum: 0, maximum: 1_000_000_000, description: 'how many of them at once' }),
  senderSeriesPerSecond: Rate('how many new series one address may make each second on average'),
  senderSeriesBurst: Type.Integer({ minimum: 0, maximum: 1_000_000_000, description: 'how many of them at once' }),
  senderSamplesPerSecond: Rate(
    'how many samples, of statsd lines, one address may send each second on average; ten seconds of them at once',
  ),
  port: Port('of OpenTelemetry that for gRPC, which 0 closes; null: as in the settings of storaged'),
  picklePort: Port("that of Graphite's pickle, which 0 closes; null: as in the settings of storaged"),
  tlsPort: Port(
    "of statsd, Graphite and InfluxDB's lines: for the same by TLS, which 0 closes; null: as in the settings of storaged",
  ),
  tlsClientCa: nullable(
    Type.String({
      minLength: 1,
      maxLength: 65_536,
      description:
        'PEM of CAs: by TLS clients must show a certificate of one of these; null: as in the settings of storaged',
    }),
  ),
  senderIsHost: Type.Boolean({
    description:
      "of statsd, Graphite and InfluxDB's lines: what names no host gets its sender's address as the label `host`; series of several senders are then several",
  }),
  hostNames: Type.Array(closed({ address: Place, name: HostName }), {
    maxItems: 1000,
    description:
      'of the same: names of single senders, of IPv6 also of networks of 64 bits, which become that label in place of the address; they hold without `senderIsHost` too',
  }),
  refusedSenders: Type.Array(Place, {
    maxItems: 1000,
    description: 'single senders, of IPv6 also networks of 64 bits, of whom nothing is taken',
  }),
};

export const InputSettings = closed(settings, { $id: 'InputSettings' });
export type InputSettings = Static<typeof InputSettings>;

const Refused = Type.Record(Type.String(), Count, { description: 'samples, packets or requests, by reason' });

export const Sender = component('InputSender', {
  address: Type.String({
    description: 'of IPv6 its network of 64 bits; `others`: those that are not told apart any more',
  }),
  samples: Type.Integer({ minimum: 0, description: 'samples, or lines of statsd, within the last hour' }),
  newSeries: Type.Integer({ minimum: 0, description: 'within the last hour' }),
  refused: Refused,
  firstAt: nullable(Time),
  lastAt: nullable(Time),
});

export const NewSender = component(
  'NewSender',
  {
    input: Type.String(),
    address: Type.String(),
    firstAt: Time,
    samples: nullable(
      Type.Integer({ minimum: 0, description: 'or lines of statsd, within the last hour; null: not known' }),
    ),
    newSeries: nullable(Type.Integer({ minimum: 0, description: 'within the last hour; null: not known' })),
    canBeNamed: Type.Boolean({ description: 'its input gives a label `host` to what names none' }),
    hostName: nullable(Type.String({ description: 'the label `host` of what it sends without one; null: none' })),
  },
  'An address of which nothing came by that input before',
);
export type NewSender = Static<typeof NewSender>;
export const NewSenders = closed({ items: Type.Array(NewSender), total: Count });
export const DismissInput = closed({
  input: Type.Optional(Type.String({ maxLength: 40 })),
  address: Type.Optional(Type.String({ maxLength: 64, description: 'left out: all that are announced now' })),
});

export const Input = component('Input', {
  name: Type.String(),
  ...settings,
  etag: Etag,
  ownNetworks: Type.Array(Type.String(), { description: 'what `own` stands for at this moment' }),
  listens: Type.Array(Type.String(), { description: 'HOST:PORT; empty: over HTTPS only, or off' }),
  tlsListens: nullable(Type.String({ description: 'the one of these that is for TLS' })),
  newSeries: Count,
  refused: Refused,
  senders: Type.Array(Sender, {
    description:
      'those of whom something came within an hour: the twenty of whom most was refused, who made most new series, who sent most, and who began last',
  }),
});
export type Input = Static<typeof Input>;

export const InputCertificate = component('InputCertificate', {
  pem: nullable(Type.String({ description: 'what clients are given to trust; null: no input listens for TLS' })),
  sha256: nullable(Type.String({ description: 'the fingerprint of the certificate, in hexadecimal digits' })),
  names: Type.Array(Type.String(), { description: 'host names and addresses that clients may reach it by' }),
  validFrom: nullable(Time),
  validTo: nullable(Time),
  own: Type.Boolean({ description: 'made by the appliance itself, and not by a CA' }),
  because: nullable(Type.String({ description: 'why it took the place of the one before; null: it is the first one' })),
  problem: nullable(Type.String({ description: 'what keeps it from being used or read again' })),
});
export type InputCertificate = Static<typeof InputCertificate>;

export const SenderName = closed({ address: Place, hostName: nullable(HostName) });
export const OneSender = closed({ address: Place });
export const InputName = closed({ name: Type.String({ maxLength: 40 }) });
