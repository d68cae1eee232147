// What can be asked to be done to a pool that exists.

import {
  Bytes,
  Count,
  closed,
  component,
  Etag,
  Line,
  list,
  nullable,
  type Static,
  Time,
  Type,
} from '../../base/schema/schema.ts';
import { NextRun, Schedule } from '../../schedules/schema.ts';
import { LayoutId } from '../disks/index.ts';

/** A device of the pool: its disk's id, or the name that the pool's tree has for it. */
const Device = Type.String({
  minLength: 1,
  maxLength: 256,
  description: "a disk's id, or the device's name in the pool",
});
const DiskId = Type.String({ minLength: 1, maxLength: 256, description: "a disk's id" });

export const ScrubInput = component('ScrubInput', {
  action: Type.Enum(['start', 'pause', 'stop'], { description: 'start also goes on with one that is paused' }),
});
export const TrimInput = component('TrimInput', { action: Type.Enum(['start', 'suspend', 'cancel']) });
export const ClearInput = component('ClearInput', { device: Type.Optional(Device) });
export const DeviceInput = component('DeviceInput', { device: Device });
export const AttachInput = component('AttachInput', { device: Device, disk: DiskId });
export const ReplaceInput = component('ReplaceInput', { device: Device, disk: DiskId });
export const AddInput = component('AddInput', {
  kind: Type.Enum(['data', 'spare', 'log', 'cache', 'special']),
  layout: LayoutId,
  disks: Type.Array(DiskId, { minItems: 1, maxItems: 256 }),
});
export type AddInput = Static<typeof AddInput>;
export const RemoveInput = component('RemoveInput', {
  vdev: Type.String({ minLength: 1, maxLength: 256, description: 'a device, or a group such as mirror-1' }),
});
export const PropertiesInput = component('PropertiesInput', {
  autoexpand: Type.Optional(Type.Boolean()),
  autotrim: Type.Optional(Type.Boolean()),
  comment: Type.Optional(Type.String({ maxLength: 32, pattern: '^[\\u0020-\\u007e]*$' })),
});
export type PropertiesInput = Static<typeof PropertiesInput>;
/** Of a pool, what a change sets. */
export const editableProperties = ({ properties }: { properties: Required<PropertiesInput> }) => properties;
export const ConfirmQuery = closed({
  confirm: Type.String({ maxLength: 255, description: "the pool's name again: everything on it is lost" }),
});
export const ReplaceQuery = closed({ device: Device });

export const ReplaceCandidate = component('ReplaceCandidate', {
  disk: Type.String(),
  bytes: Bytes,
  fits: Type.Boolean(),
  reason: Type.String({ description: 'why it is, or is not, a good choice' }),
});
export const ReplaceAdvice = component('ReplaceAdvice', {
  device: Type.String(),
  disk: nullable(Type.String({ description: "the old disk's id, if it is known" })),
  state: Type.String(),
  sentence: Type.String({ description: 'what is wrong with it, and what replacing it does' }),
  needsBytes: Bytes,
  recommended: nullable(Type.String()),
  candidates: Type.Array(ReplaceCandidate),
});
export type ReplaceAdvice = Static<typeof ReplaceAdvice>;

export const ImportablePool = component('ImportablePool', {
  name: Type.String(),
  guid: Type.String(),
  state: Type.String(),
  status: nullable(Type.String({ description: "zpool's own words" })),
  action: nullable(Type.String({ description: "zpool's own words" })),
  inUseElsewhere: Type.Boolean({ description: 'another machine has used it last and has not given it up' }),
  sentence: Type.String(),
  devices: Type.Array(component('ImportableDevice', { name: Type.String(), state: Type.String(), depth: Count })),
});
export type ImportablePool = Static<typeof ImportablePool>;
export const byGuid = closed({ guid: Type.String({ pattern: '^[0-9]{1,20}$' }) });
export const ImportInput = component('ImportInput', {
  name: Type.Optional(
    Type.String({ maxLength: 255, description: 'what it is to be called here; its own name when left out' }),
  ),
  force: Type.Optional(Type.Boolean({ description: 'take it though another machine has not given it up' })),
});
export type ImportInput = Static<typeof ImportInput>;

export const PoolHistory = list(
  component('PoolHistoryLine', {
    time: Time,
    source: Type.Enum(['zfs', 'cistern'], { description: 'the pool’s own history, or this appliance’s audit log' }),
    by: nullable(Type.String()),
    text: Type.String(),
  }),
);
export type PoolHistory = Static<typeof PoolHistory>;

export const ScanRecord = component('ScanRecord', {
  kind: Type.Enum(['scrub', 'resilver']),
  state: Type.String({ description: 'finished, canceled' }),
  startedAt: Time,
  finishedAt: nullable(Time),
  bytes: Bytes,
  repairedBytes: Bytes,
  errors: Count,
  sentence: Type.String(),
});
export type ScanRecord = Static<typeof ScanRecord>;

export const ScrubSchedule = component('ScrubSchedule', {
  etag: Etag,
  enabled: Type.Boolean(),
  schedule: Schedule,
  words: Type.String(),
  nextRun: NextRun,
});
export type ScrubSchedule = Static<typeof ScrubSchedule>;
export const ScrubScheduleInput = component('ScrubScheduleInput', { enabled: Type.Boolean(), schedule: Schedule });
export type ScrubScheduleInput = Static<typeof ScrubScheduleInput>;

export const DamagedFiles = list(Type.String());

export const WipeInput = component('WipeInput', {
  confirm: Line({ maxLength: 256, description: "the disk's id again: what is on it is lost" }),
});
