// A replication: what goes where, and when. And who may replicate to here.

import { Problem } from '../../base/problems/schema.ts';
import { Count, closed, component, Etag, Line, nullable, type Static, Time, Type } from '../../base/schema/schema.ts';
import { NextRun, Schedule } from '../../schedules/schema.ts';
import { DatasetName } from '../datasets/index.ts';

/** Where a Cistern takes replications in; another machine's sshd is mostly at 22. */
export const CISTERN_PORT = 8022;

const Host = Type.String({
  minLength: 1,
  maxLength: 253,
  pattern: '^[A-Za-z0-9._:%-]+$',
  description: 'name or address',
});
const Port = Type.Integer({ minimum: 1, maximum: 65_535 });

export const ReplicationTarget = component('ReplicationTarget', {
  kind: Type.Enum(['here', 'ssh'], { description: 'another pool of this appliance, or another machine' }),
  host: Type.Optional(Host),
  port: Type.Optional(Port),
  user: Type.Optional(Type.String({ minLength: 1, maxLength: 64, pattern: '^[^\\s\\u0000-\\u001f]+$' })),
  hostKey: Type.Optional(
    Type.String({
      maxLength: 4096,
      description: 'the key of the machine, confirmed by a person; nothing is sent to another one',
    }),
  ),
  dataset: DatasetName,
});
export type ReplicationTarget = Static<typeof ReplicationTarget>;

const fields = {
  dataset: DatasetName,
  recursive: Type.Boolean({ description: 'also everything below it' }),
  target: ReplicationTarget,
  schedule: Schedule,
  enabled: Type.Boolean(),
  intermediate: Type.Boolean({ description: 'also the snapshots between two runs' }),
  bytesPerSecond: Type.Integer({ minimum: 0, description: 'bytes per second at most; 0: as fast as it goes' }),
  lateAfterMinutes: Type.Integer({
    minimum: 0,
    maximum: 525_600,
    description: 'an alert when the newest replicated snapshot is older than so many minutes; 0: never',
  }),
};
export const ReplicationInput = component('ReplicationInput', fields);
export type ReplicationInput = Static<typeof ReplicationInput>;

export const Replication = component('Replication', {
  id: Type.String(),
  etag: Etag,
  ...fields,
  words: Type.String({ description: 'when and how, in words' }),
  nextRun: NextRun,
  job: nullable(Type.String({ description: 'the job that runs it just now' })),
  lastRun: nullable(
    closed({
      at: Time,
      error: nullable(Problem),
      bytes: Type.Integer({ minimum: 0, description: 'bytes sent' }),
      seconds: Type.Number({ minimum: 0 }),
    }),
  ),
  lastSuccess: nullable(
    closed({
      at: Type.String({ description: 'when the newest replicated snapshot was taken' }),
      snapshot: Type.String(),
    }),
  ),
  lagSeconds: nullable(
    Type.Number({ minimum: 0, description: 'how old the newest replicated snapshot is; null: there is none' }),
  ),
  retryAt: nullable(Time),
});
export type Replication = Static<typeof Replication>;

export const HostInput = closed({ host: Host, port: Port });
export const HostKey = component('HostKey', { hostKey: Type.String(), fingerprint: Type.String() });

export const ReplicationPreviewInput = closed({ dataset: DatasetName, target: ReplicationTarget });
export const ReplicationPreview = component('ReplicationPreview', {
  cistern: nullable(closed({ version: Type.String(), under: Type.String({ description: 'targets lie below it' }) })),
  exists: Type.Boolean(),
  snapshots: Count,
  common: nullable(Type.String({ description: 'the newest snapshot that both have, by its name here' })),
  sentence: Type.String({ description: 'what a replication would do, in words' }),
  possible: Type.Boolean(),
});
export type ReplicationPreview = Static<typeof ReplicationPreview>;

const sender = {
  name: Line({ maxLength: 100 }),
  publicKey: Type.String({ maxLength: 4096, description: 'the line that the sender shows' }),
  under: DatasetName,
};
export const SenderInput = component('SenderInput', {
  ...sender,
  quotaBytes: nullable(
    Type.Integer({
      minimum: 64 * 1024 * 1024,
      description:
        'the quota that the dataset gets: what all that is sent below it may take; null: it stays as it is, and without one a sender may fill the pool',
    }),
  ),
});
export type SenderInput = Static<typeof SenderInput>;
export const Sender = component('Sender', { id: Type.String(), ...sender, createdAt: Time });
export type Sender = Static<typeof Sender>;

export const SenderList = component('SenderList', {
  items: Type.Array(Sender),
  identity: closed(
    { publicKey: Type.String(), fingerprint: Type.String() },
    { description: 'what other machines are given' },
  ),
  accepting: closed({
    port: Type.Integer({ minimum: 0, description: '0: replications to here are not accepted' }),
    hostFingerprint: Type.String(),
    failure: nullable(Type.String()),
  }),
});
