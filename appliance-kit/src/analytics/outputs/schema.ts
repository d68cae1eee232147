// Where samples are sent on. Secrets travel one way: in. What is read back says only whether one is set.
import { Authority } from '../../alerting/destinations/index.ts';
import {
  Bytes,
  Count,
  closed,
  component,
  Etag,
  Labels,
  Line,
  nullable,
  type Static,
  Time,
  Type,
} from '../../base/schema/schema.ts';

const Secret = (what: string) =>
  Type.String({ maxLength: 4096, writeOnly: true, description: `${what}; left out = as stored, empty = none` });
const Address = Line({ maxLength: 270, description: 'HOST:PORT' });

const remoteWrite = {
  url: Line({ maxLength: 2048, description: 'where to post, as https://metrics.example.com/api/v1/write' }),
  version: Type.Enum(['auto', '1.0', '2.0'], {
    description: 'of the protocol; auto: 2.0 where the receiver knows it',
  }),
  user: Type.Optional(Line({ maxLength: 256, minLength: 0, description: 'of basic authentication' })),
};
export const RemoteWriteOutput = component('RemoteWriteOutput', {
  ...remoteWrite,
  passwordSet: Type.Boolean(),
  tokenSet: Type.Boolean(),
  authority: nullable(Authority),
});
export const RemoteWriteOutputInput = component('RemoteWriteOutputInput', {
  ...remoteWrite,
  password: Type.Optional(Secret('password of the user')),
  token: Type.Optional(Secret('sent as a bearer token, instead of a user and a password')),
  ca: Type.Optional(
    Type.String({
      maxLength: 64 * 1024,
      description:
        'PEM: the authorities that the receiver’s certificate is checked against, instead of those that the operating system knows; left out = as stored, empty = none',
    }),
  ),
});
export type RemoteWriteOutputInput = Static<typeof RemoteWriteOutputInput>;

export const GraphiteOutput = component('GraphiteOutput', {
  address: Address,
  prefix: Line({ maxLength: 200, minLength: 0, description: 'put before every name' }),
  quantiles: Type.Array(Type.Number({ minimum: 0, maximum: 1 }), {
    maxItems: 10,
    description: 'of histograms, from 0 to 1: NAME.p99 for 0.99; NAME.count and NAME.sum are always sent',
  }),
});
export const StatsdOutput = component('StatsdOutput', {
  address: Address,
  protocol: Type.Enum(['udp', 'tcp'], { description: 'over udp nobody acknowledges what arrives' }),
  histograms: Type.Enum(['ms', 'h', 'none'], {
    description:
      'ms: as timers, with the values in milliseconds that the store has in seconds; h: with the values as they are; none: not at all',
  }),
});
export const FileOutput = component('FileOutput', {
  folder: Type.String({
    pattern: '^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$',
    description: 'below outputs/ of the telemetry dataset',
  }),
  fileMiB: Type.Integer({
    minimum: 1,
    maximum: 4096,
    description: 'how large a file gets, in MiB, before it is closed',
  }),
  files: Type.Integer({ minimum: 1, maximum: 10_000, description: 'how many closed files are kept' }),
});

export const OutputKind = Type.Enum(['remote-write', 'graphite', 'statsd', 'file']);
export const OutputHealth = component('OutputHealth', {
  state: Type.Enum(['off', 'delivering', 'catching-up', 'failing', 'invalid', 'unknown'], {
    description: 'unknown: storaged does not answer, or does not run it yet',
  }),
  error: nullable(Type.String({ description: 'why it fails' })),
  since: nullable(Time),
  lagBytes: Bytes,
  lagSeconds: Type.Number({ minimum: 0, description: 'how long ago the oldest of what waits was accepted' }),
  sent: Count,
  refused: Count,
  refusedWords: nullable(Type.String({ description: "the receiver's own words" })),
  refusedAt: nullable(Time),
  leftOut: Count,
  skipped: Count,
  skippedFrom: nullable(Time),
  skippedTo: nullable(Time),
  skippedAt: nullable(Time),
  retries: Count,
  lastDeliveredAt: nullable(Time),
});
export type OutputHealth = Static<typeof OutputHealth>;

const common = {
  name: Line({ maxLength: 100 }),
  enabled: Type.Boolean({ description: 'one that is switched off gives up its place, and later begins anew' }),
  kind: OutputKind,
  begin: Type.Enum(['now', 'journal'], {
    description:
      'where a new one begins: with what comes from now on, or with what is in the journal and in no block yet',
  }),
  keep: Type.Array(Line({ maxLength: 2000 }), {
    maxItems: 50,
    description: 'PromQL selectors: a series that one of them matches is sent; none = all',
  }),
  labels: Type.Record(Type.String(), Line({ maxLength: 2048 }), {
    description: 'added to series that do not have them',
  }),
  lagMiB: Type.Integer({
    minimum: 16,
    maximum: 65_536,
    description: 'how much of the journal may wait, in MiB; beyond it the oldest is skipped, and counted',
  }),
  graphite: Type.Optional(GraphiteOutput),
  statsd: Type.Optional(StatsdOutput),
  file: Type.Optional(FileOutput),
};
const input = { ...common, remoteWrite: Type.Optional(RemoteWriteOutputInput) };

export const Output = component('Output', {
  id: Type.String(),
  etag: Etag,
  ...common,
  labels: Labels,
  remoteWrite: Type.Optional(RemoteWriteOutput),
  health: OutputHealth,
});
export type Output = Static<typeof Output>;
export const OutputInput = component('OutputInput', input);
export type OutputInput = Static<typeof OutputInput>;
/** As it is kept: with the secrets. Never part of an answer. */
export type StoredOutput = OutputInput & { readonly id: string };
export const OutputTest = component(
  'OutputTest',
  { ...input, id: Type.Optional(Type.String({ maxLength: 64 })) },
  'An output that need not be saved; with `id` the stored secrets are filled in',
);
export const OutputTestResult = closed(
  { ok: Type.Boolean(), text: Type.String({ description: 'what the receiver answered' }) },
  { $id: 'OutputTestResult' },
);
