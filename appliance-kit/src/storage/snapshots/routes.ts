// What this domain answers, and who may ask.

import { list } from '../../base/schema/schema.ts';
import { accepted, byId, created, nothing, ok, type Routes, stream } from '../../http/routes.ts';
import { Job } from '../../jobs/index.ts';
import {
  CloneInput,
  DestroyedSnapshots,
  DestroySnapshots,
  DiffPage,
  DiffQuery,
  FileList,
  FileQuery,
  FilesQuery,
  HoldInput,
  NewSnapshots,
  OneSnapshot,
  RenameSnapshot,
  RollbackInput,
  RollbackPreview,
  ScheduleQuery,
  Snapshot,
  SnapshotDetail,
  SnapshotPage,
  SnapshotQuery,
  SnapshotSchedule,
  SnapshotScheduleInput,
  Taken,
} from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  listSnapshots: { method: 'GET', path: '/api/snapshots', access: 'viewer', summary: 'Snapshots, a page at a time, newest first', query: SnapshotQuery, answer: ok(SnapshotPage) },
  createSnapshots: { method: 'POST', path: '/api/snapshots', access: 'operator', summary: 'Take snapshots, all of one pool at one moment', body: NewSnapshots, answer: created(Taken) },
  destroySnapshots: { method: 'POST', path: '/api/snapshots/destroy', access: 'administrator', confirm: true, summary: 'Destroy snapshots; what is refused is listed with the reason', body: DestroySnapshots, answer: ok(DestroyedSnapshots) },
  holdSnapshots: { method: 'POST', path: '/api/snapshots/hold', access: 'operator', summary: 'Hold snapshots: they cannot be destroyed', body: HoldInput, answer: nothing },
  releaseSnapshots: { method: 'POST', path: '/api/snapshots/release', access: 'administrator', summary: 'Release a hold', body: HoldInput, answer: nothing },
  getSnapshot: { method: 'GET', path: '/api/snapshots/:name', access: 'viewer', summary: 'One snapshot, with who holds it', params: OneSnapshot, answer: ok(SnapshotDetail) },
  renameSnapshot: { method: 'POST', path: '/api/snapshots/:name/rename', access: 'administrator', summary: 'Rename a snapshot', params: OneSnapshot, body: RenameSnapshot, answer: ok(Snapshot) },
  cloneSnapshot: { method: 'POST', path: '/api/snapshots/:name/clone', access: 'administrator', summary: 'Make a dataset that begins as the snapshot is', params: OneSnapshot, body: CloneInput, answer: nothing },
  previewRollback: { method: 'GET', path: '/api/snapshots/:name/rollback-preview', access: 'viewer', summary: 'What a rollback would lose, by name and size', params: OneSnapshot, answer: ok(RollbackPreview) },
  rollback: { method: 'POST', path: '/api/snapshots/:name/rollback', access: 'administrator', confirm: true, summary: 'Bring a dataset back to a snapshot', params: OneSnapshot, body: RollbackInput, answer: accepted(Job) },
  diffSnapshot: { method: 'GET', path: '/api/snapshots/:name/differences', access: 'administrator', summary: 'Which files changed since, or up to a later snapshot', params: OneSnapshot, query: DiffQuery, answer: ok(DiffPage) },
  listSnapshotFiles: { method: 'GET', path: '/api/snapshots/:name/files', access: 'administrator', summary: 'A directory of a snapshot', params: OneSnapshot, query: FilesQuery, answer: ok(FileList) },
  downloadSnapshotFile: { method: 'GET', path: '/api/snapshots/:name/files/content', access: 'administrator', summary: 'A file of a snapshot', params: OneSnapshot, query: FileQuery, answer: stream({ 'application/octet-stream': null }) },
  listSnapshotSchedules: { method: 'GET', path: '/api/snapshot-schedules', access: 'viewer', summary: 'When snapshots are taken and how many are kept', query: ScheduleQuery, answer: ok(list(SnapshotSchedule)) },
  createSnapshotSchedule: { method: 'POST', path: '/api/snapshot-schedules', access: 'operator', summary: 'Add a schedule', body: SnapshotScheduleInput, answer: created(SnapshotSchedule) },
  getSnapshotSchedule: { method: 'GET', path: '/api/snapshot-schedules/:id', access: 'viewer', summary: 'One schedule', params: byId, answer: ok(SnapshotSchedule), editable: SnapshotScheduleInput },
  updateSnapshotSchedule: { method: 'PUT', path: '/api/snapshot-schedules/:id', access: 'operator', summary: 'Change a schedule', params: byId, body: SnapshotScheduleInput, answer: ok(SnapshotSchedule) },
  deleteSnapshotSchedule: { method: 'DELETE', path: '/api/snapshot-schedules/:id', access: 'operator', summary: 'Remove a schedule; its snapshots stay', params: byId, answer: nothing },
} as const satisfies Routes;
