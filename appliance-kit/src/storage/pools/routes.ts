// What this domain answers, and who may ask.

import { list } from '../../base/schema/schema.ts';
import { accepted, byName, nothing, ok, type Routes } from '../../http/routes.ts';
import { Job } from '../../jobs/index.ts';
import { byDiskId } from '../disks/index.ts';
import { Pool } from '../inventory/index.ts';
import {
  AddInput,
  AttachInput,
  byGuid,
  ClearInput,
  ConfirmQuery,
  DamagedFiles,
  DeviceInput,
  editableProperties,
  ImportablePool,
  ImportInput,
  PoolHistory,
  PropertiesInput,
  RemoveInput,
  ReplaceAdvice,
  ReplaceInput,
  ReplaceQuery,
  ScanRecord,
  ScrubInput,
  ScrubSchedule,
  ScrubScheduleInput,
  TrimInput,
  WipeInput,
} from './operations.schema.ts';
import { NewPool, PoolList } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  listPools: { method: 'GET', path: '/api/pools', access: 'viewer', summary: 'The pools', answer: ok(PoolList) },
  getPool: { method: 'GET', path: '/api/pools/:name', access: 'viewer', summary: 'One pool', params: byName, answer: ok(Pool), editable: editableProperties },
  createPool: { method: 'POST', path: '/api/pools', access: 'administrator', summary: 'Create a pool', body: NewPool, answer: accepted(Job) },
  listImportable: { method: 'GET', path: '/api/importable-pools', access: 'administrator', summary: 'Pools on disks of this machine that are not imported, and what is wrong with each', answer: ok(list(ImportablePool)) },
  importPool: { method: 'POST', path: '/api/importable-pools/:guid/import', access: 'administrator', summary: 'Import a pool', params: byGuid, body: ImportInput, answer: accepted(Job) },
  exportPool: { method: 'POST', path: '/api/pools/:name/export', access: 'administrator', summary: 'Give a pool up, so that another machine can import it', params: byName, answer: accepted(Job) },
  destroyPool: { method: 'DELETE', path: '/api/pools/:name', access: 'administrator', confirm: true, summary: 'Destroy a pool and everything on it', params: byName, query: ConfirmQuery, answer: accepted(Job) },
  scrubPool: { method: 'POST', path: '/api/pools/:name/scrub', access: 'operator', summary: 'Read and check everything on it: start, pause or stop', params: byName, body: ScrubInput, answer: ok(Pool) },
  listScans: { method: 'GET', path: '/api/pools/:name/scans', access: 'viewer', summary: 'Its scrubs and resilvers so far, newest first', params: byName, answer: ok(list(ScanRecord)) },
  getScrubSchedule: { method: 'GET', path: '/api/pools/:name/scrub-schedule', access: 'viewer', summary: 'When it is scrubbed by itself', params: byName, answer: ok(ScrubSchedule), editable: ScrubScheduleInput },
  setScrubSchedule: { method: 'PUT', path: '/api/pools/:name/scrub-schedule', access: 'operator', summary: 'Decide when it is scrubbed by itself', params: byName, body: ScrubScheduleInput, answer: ok(ScrubSchedule) },
  listDamagedFiles: { method: 'GET', path: '/api/pools/:name/damaged-files', access: 'viewer', summary: 'Files that are damaged beyond repair, by name', params: byName, answer: ok(DamagedFiles) },
  trimPool: { method: 'POST', path: '/api/pools/:name/trim', access: 'operator', summary: 'Report free blocks to its disks: start, suspend or cancel', params: byName, body: TrimInput, answer: ok(Pool) },
  clearPool: { method: 'POST', path: '/api/pools/:name/clear', access: 'operator', summary: 'Forget the errors that were counted; a suspended pool goes on', params: byName, body: ClearInput, answer: ok(Pool) },
  onlineDevice: { method: 'POST', path: '/api/pools/:name/online', access: 'operator', summary: 'Take a device into use again', params: byName, body: DeviceInput, answer: ok(Pool) },
  offlineDevice: { method: 'POST', path: '/api/pools/:name/offline', access: 'administrator', summary: 'Take a device out of use', params: byName, body: DeviceInput, answer: ok(Pool) },
  attachDisk: { method: 'POST', path: '/api/pools/:name/attach', access: 'administrator', summary: 'Give a disk or a mirror another side; of the system pool, a disk to start from', params: byName, body: AttachInput, answer: accepted(Job) },
  detachDevice: { method: 'POST', path: '/api/pools/:name/detach', access: 'administrator', summary: 'Take a side out of a mirror', params: byName, body: DeviceInput, answer: ok(Pool) },
  adviseReplacement: { method: 'GET', path: '/api/pools/:name/replacements', access: 'viewer', summary: 'Which disks could replace a device, best first', params: byName, query: ReplaceQuery, answer: ok(ReplaceAdvice) },
  replaceDisk: { method: 'POST', path: '/api/pools/:name/replace', access: 'administrator', summary: 'Replace a device by a disk; the job ends with the resilver', params: byName, body: ReplaceInput, answer: accepted(Job) },
  addToPool: { method: 'POST', path: '/api/pools/:name/add', access: 'administrator', summary: 'Add disks: data, spares, log, cache, special', params: byName, body: AddInput, answer: accepted(Job) },
  removeFromPool: { method: 'POST', path: '/api/pools/:name/remove', access: 'administrator', summary: 'Take out a spare, log, cache, or a whole mirror', params: byName, body: RemoveInput, answer: accepted(Job) },
  updatePool: { method: 'PUT', path: '/api/pools/:name', access: 'administrator', summary: 'Set its properties: autoexpand, autotrim, comment', params: byName, body: PropertiesInput, answer: ok(Pool) },
  upgradePool: { method: 'POST', path: '/api/pools/:name/upgrade', access: 'administrator', summary: 'Use all features that this system knows; an older one cannot import it then', params: byName, answer: ok(Pool) },
  getPoolHistory: { method: 'GET', path: '/api/pools/:name/history', access: 'viewer', summary: 'What was done to it, by whom and when, newest first', params: byName, answer: ok(PoolHistory) },
  wipeDisk: { method: 'POST', path: '/api/disks/:id/wipe', access: 'administrator', confirm: true, summary: 'Erase what says that a disk belongs to something', params: byDiskId, body: WipeInput, answer: nothing },
  placeTelemetry: { method: 'POST', path: '/api/pools/:name/place-telemetry', access: 'administrator', summary: 'Keep telemetry on the system pool (a machine with one disk)', params: byName, answer: accepted(Job) },
} as const satisfies Routes;
