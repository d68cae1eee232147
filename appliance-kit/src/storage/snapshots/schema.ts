// A snapshot, what a rollback would cost, and a schedule that takes and keeps them.

import {
  Bytes,
  Count,
  closed,
  component,
  Etag,
  Line,
  nullable,
  type Static,
  Time,
  Type,
} from '../../base/schema/schema.ts';
import { NextRun, Schedule } from '../../schedules/schema.ts';
import { DatasetName, Page, Paging } from '../datasets/index.ts';

export const SnapshotName = Type.String({ minLength: 1, maxLength: 255, description: 'DATASET@NAME' });
export const OneSnapshot = closed({ name: SnapshotName });

export const Snapshot = component('Snapshot', {
  name: Type.String({ description: 'DATASET@NAME' }),
  dataset: Type.String(),
  snapshot: Type.String({ description: 'its own name, behind the @' }),
  used: Type.Integer({ minimum: 0, description: 'bytes that only this snapshot holds' }),
  referenced: Bytes,
  createdAt: Time,
  holds: Count,
  clones: Type.Array(Type.String()),
  schedule: nullable(Type.String({ description: 'the id of the schedule that took it' })),
  reason: nullable(Type.String({ description: 'why the appliance took it' })),
  replication: Type.Boolean({ description: 'a replication needs it to go on from' }),
  keptBy: nullable(Type.String({ description: 'why it is not destroyed by itself, in words' })),
});
export type Snapshot = Static<typeof Snapshot>;

export const SnapshotQuery = closed({
  ...Paging,
  dataset: Type.Optional(Type.String({ maxLength: 255, description: 'of this dataset only' })),
  sort: Type.Optional(Type.Enum(['created', 'name', 'used'])),
});
export type SnapshotQuery = Static<typeof SnapshotQuery>;
export const SnapshotPage = closed({ items: Type.Array(Snapshot), ...Page }, { $id: 'SnapshotPage' });

export const Hold = component('Hold', { snapshot: Type.String(), tag: Type.String(), at: Time });
export const SnapshotDetail = component('SnapshotDetail', {
  ...Snapshot.properties,
  heldBy: Type.Array(Hold),
  writtenSince: Type.Integer({ minimum: 0, description: 'bytes written to the dataset since it was taken' }),
});

const Names = Type.Array(SnapshotName, { minItems: 1, maxItems: 1000 });

export const NewSnapshots = component('NewSnapshots', {
  datasets: Type.Array(DatasetName, { minItems: 1, maxItems: 1000 }),
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'manual-TIME when left out' })),
  recursive: Type.Boolean(),
});
export type NewSnapshots = Static<typeof NewSnapshots>;
export const Taken = closed({ names: Type.Array(Type.String()) });

export const DestroySnapshots = closed({ names: Names });
export const DestroyedSnapshots = component('DestroyedSnapshots', {
  destroyed: Type.Array(Type.String()),
  refused: Type.Array(closed({ name: Type.String(), reason: Type.String() })),
});
export const HoldInput = closed({
  names: Names,
  tag: Line({ maxLength: 100, description: 'what it is held for' }),
});
export const RenameSnapshot = closed({ to: Type.String({ minLength: 1, maxLength: 255, description: 'NAME' }) });
export const CloneInput = closed({
  name: DatasetName,
  mountpoint: Type.Optional(Type.String({ maxLength: 1024 })),
});

export const RollbackPreview = component('RollbackPreview', {
  snapshot: SnapshotName,
  dataset: DatasetName,
  createdAt: Time,
  writtenSince: Bytes,
  newer: Type.Array(closed({ name: Type.String(), used: Bytes, createdAt: Time, keptBy: nullable(Type.String()) }), {
    description: 'the snapshots that are newer, the oldest first',
  }),
  newerBytes: Type.Integer({ minimum: 0, description: 'what the newer snapshots hold by themselves' }),
  sentence: Type.String({ description: 'what would be lost' }),
  cannotKeep: nullable(Type.String({ description: 'why what there is now cannot be kept beside it' })),
  cannotDestroy: nullable(Type.String({ description: 'why newer snapshots cannot be destroyed' })),
  services: Type.Array(Type.String(), { description: 'what is stopped meanwhile' }),
});
export type RollbackPreview = Static<typeof RollbackPreview>;

export const RollbackInput = closed({
  confirm: Type.String({ description: "the dataset's name" }),
  keep: Type.Boolean({ description: 'what there is now lives on as a dataset of its own; nothing is lost' }),
  destroyNewer: Type.Boolean({ description: 'without `keep`: newer snapshots may be destroyed' }),
});
export type RollbackInput = Static<typeof RollbackInput>;

export const DiffQuery = closed({
  other: Type.Optional(Type.String({ maxLength: 255, description: 'a later snapshot; now when left out' })),
  limit: Paging.limit,
  offset: Paging.offset,
});
export const DiffPage = component('DiffPage', {
  items: Type.Array(
    closed({
      change: Type.Enum(['added', 'removed', 'modified', 'renamed']),
      kind: Type.Enum(['file', 'directory', 'link', 'other']),
      path: Type.String(),
      to: nullable(Type.String()),
      at: nullable(Time),
    }),
  ),
  total: Count,
  offset: Count,
  cut: Type.Boolean({ description: 'there is more than is listed' }),
});

const FilePath = Type.String({ maxLength: 4096, description: 'below the snapshot, without a slash in front' });
export const FilesQuery = closed({ path: Type.Optional(FilePath) });
export const FileQuery = closed({ path: FilePath });
export const FileList = component('FileList', {
  path: Type.String(),
  items: Type.Array(
    closed({
      name: Type.String(),
      kind: Type.Enum(['file', 'directory', 'link', 'other']),
      bytes: Bytes,
      modifiedAt: Time,
    }),
  ),
  cut: Type.Boolean({ description: 'there is more than is listed' }),
});

const Kept = Type.Integer({ minimum: 0, maximum: 10_000 });
export const Keep = closed({
  frequent: Type.Integer({ minimum: 0, maximum: 10_000, description: 'the newest so many, whenever they were taken' }),
  hourly: Kept,
  daily: Kept,
  weekly: Kept,
  monthly: Kept,
});
export type Keep = Static<typeof Keep>;

export const SnapshotScheduleInput = component('SnapshotScheduleInput', {
  dataset: DatasetName,
  recursive: Type.Boolean({ description: 'with all below it' }),
  schedule: Schedule,
  keep: Keep,
  enabled: Type.Boolean(),
});
export type SnapshotScheduleInput = Static<typeof SnapshotScheduleInput>;

export const SnapshotSchedule = component('SnapshotSchedule', {
  id: Type.String(),
  etag: Etag,
  ...SnapshotScheduleInput.properties,
  words: Type.String({ description: 'as “every day at 02:00; keeps the newest of 7 days”' }),
  nextRun: NextRun,
  lastRun: nullable(closed({ at: Time, error: nullable(Type.String()) })),
  snapshots: Type.Integer({ minimum: 0, description: 'how many of its snapshots there are' }),
});
export type SnapshotSchedule = Static<typeof SnapshotSchedule>;
export const ScheduleQuery = closed({ dataset: Type.Optional(DatasetName) });
