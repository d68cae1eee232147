// Every route there is, who may use it, what it takes and what it answers. Read it from top to bottom; nothing
// is served that is not listed here, and a test walks it to see that every line has a decision about who may.
//
// The key is the operationId of the OpenAPI document, and the name of the handler the route's domain provides.

import { AuditEntry, AuditQuery } from '../access/audit/schema.ts';
import { Credentials, Session } from '../access/session/schema.ts';
import { Identity, NewAdministrator, NextStep, Setup, SetupCode } from '../access/setup/schema.ts';
import { NewToken, Token } from '../access/tokens/schema.ts';
import { User } from '../access/users/schema.ts';
import * as alert from '../alerting/alerts/schema.ts';
import { Destination, DestinationInput, DestinationTest, TestResult } from '../alerting/destinations/schema.ts';
import {
  ForgetInput,
  Threshold,
  ThresholdInput,
  ThresholdPreview,
  ThresholdPreviewInput,
} from '../alerting/thresholds/schema.ts';
import { Retention, RetentionInput } from '../analytics/retention/schema.ts';
import * as analytics from '../analytics/schema.ts';
import * as worksheet from '../analytics/worksheets/schema.ts';
import { Job } from '../jobs/schema.ts';
import { CompressionChoice } from '../storage/datasets/compressions.ts';
import * as dataset from '../storage/datasets/schema.ts';
import { AdviceQuery, DiskList, LayoutAdvice } from '../storage/disks/schema.ts';
import * as pool from '../storage/pools/operations.schema.ts';
import { NewPool, Pool, PoolList } from '../storage/pools/schema.ts';
import * as replication from '../storage/replication/schema.ts';
import * as snapshot from '../storage/snapshots/schema.ts';
import { Bundle, BundleOptions, NewBundle } from '../support/bundles/schema.ts';
import { Crash } from '../support/crashes/schema.ts';
import { InstalledSystem, SystemName } from '../system/boot-environments/schema.ts';
import * as log from '../system/logs/schema.ts';
import { LinkName, Machine } from '../system/machine/schema.ts';
import { Power } from '../system/power/schema.ts';
import { Service } from '../system/services/schema.ts';
import { SnmpAgent, SnmpAgentInput } from '../system/snmp-agent/schema.ts';
import { Status } from '../system/status/schema.ts';
import { closed, list, type Static, type TSchema, Type } from './schema/schema.ts';

/**
 * Who may use a route.
 * - `anyone`: no identity is needed. What it shows must be harmless.
 * - `setup`: whoever gave the right set-up code, as long as set-up has no administrator yet.
 * - a role: that role or a higher one, by session cookie or API token.
 * - `nginx`: answers questions nginx asks over the socket; nginx routes no client here.
 * - `simulation`: is there only on the simulated platform, to make things fail on demand.
 */
export type Access = 'anyone' | 'setup' | 'viewer' | 'operator' | 'administrator' | 'nginx' | 'simulation';

/** What a route answers when all went well. `stream`: the handler writes the reply itself. */
export type Answer = { readonly status: number; readonly schema: TSchema | null; readonly stream?: string };

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly access: Access;
  readonly summary: string;
  readonly params?: TSchema;
  readonly query?: TSchema;
  readonly body?: TSchema;
  readonly answer: Answer;
}

const ok = <S extends TSchema>(schema: S) => ({ status: 200, schema }) as const;
const created = <S extends TSchema>(schema: S) => ({ status: 201, schema }) as const;
const accepted = <S extends TSchema>(schema: S) => ({ status: 202, schema }) as const;
const nothing = { status: 204, schema: null } as const;
const stream = (type: string) => ({ status: 200, schema: null, stream: type }) as const;
const id = closed({ id: Type.String({ maxLength: 64 }) });
const name = closed({ name: Type.String({ maxLength: 255 }) });
const diskId = closed({ id: Type.String({ maxLength: 256 }) });

// biome-ignore format: one route is one line, so that the table can be read as a table
export const routes = {
  getOpenapi:            { method: 'GET',    path: '/api/openapi.json',             access: 'anyone',        summary: 'This description',                             answer: ok(Type.Unknown()) },

  getSetup:              { method: 'GET',    path: '/api/setup',                    access: 'anyone',        summary: 'How far set-up has come',                      answer: ok(Setup) },
  enterSetupCode:        { method: 'POST',   path: '/api/setup/code',               access: 'anyone',        summary: 'Give the code the console shows; sets the set-up cookie', body: SetupCode, answer: ok(Setup) },
  createAdministrator:   { method: 'POST',   path: '/api/setup/administrator',      access: 'setup',         summary: 'Create the first administrator and sign in',   body: NewAdministrator, answer: ok(Session) },
  setIdentity:           { method: 'POST',   path: '/api/setup/identity',           access: 'administrator', summary: 'Set host name and time zone',                  body: Identity, answer: ok(Setup) },
  setSetupStep:          { method: 'POST',   path: '/api/setup/step',               access: 'administrator', summary: 'Go on to, or skip to, a step of the wizard',   body: NextStep, answer: ok(Setup) },
  finishSetup:           { method: 'POST',   path: '/api/setup/finish',             access: 'administrator', summary: 'Finish set-up; the code is then worthless',    answer: ok(Setup) },

  getSession:            { method: 'GET',    path: '/api/session',                  access: 'anyone',        summary: 'Who is signed in',                             answer: ok(Session) },
  signIn:                { method: 'POST',   path: '/api/session',                  access: 'anyone',        summary: 'Sign in',                                      body: Credentials, answer: ok(Session) },
  signOut:               { method: 'DELETE', path: '/api/session',                  access: 'anyone',        summary: 'Sign out',                                     answer: nothing },

  getStatus:             { method: 'GET',    path: '/api/status',                   access: 'viewer',        summary: 'How the appliance is, in a sentence and in parts', answer: ok(Status) },
  listServices:          { method: 'GET',    path: '/api/services',                 access: 'viewer',        summary: 'The services of the appliance',                answer: ok(list(Service)) },
  restartService:        { method: 'POST',   path: '/api/services/:name/restart',   access: 'operator',      summary: 'Restart a service',                            params: name, answer: accepted(Service) },
  startService:          { method: 'POST',   path: '/api/services/:name/start',     access: 'operator',      summary: 'Start a service that was stopped',             params: name, answer: accepted(Service) },
  stopService:           { method: 'POST',   path: '/api/services/:name/stop',      access: 'operator',      summary: 'Stop a service until it is started, or the appliance is', params: name, answer: accepted(Service) },
  clearService:          { method: 'POST',   path: '/api/services/:name/clear',     access: 'operator',      summary: 'Forget that a service failed, and start it',   params: name, answer: accepted(Service) },

  listDisks:             { method: 'GET',    path: '/api/disks',                    access: 'viewer',        summary: 'The disks of the machine',                     answer: ok(DiskList) },
  adviseLayout:          { method: 'GET',    path: '/api/disks/advice',             access: 'viewer',        summary: 'How these disks can be laid out, and how they best are', query: AdviceQuery, answer: ok(LayoutAdvice) },
  listPools:             { method: 'GET',    path: '/api/pools',                    access: 'viewer',        summary: 'The pools',                                    answer: ok(PoolList) },
  getPool:               { method: 'GET',    path: '/api/pools/:name',              access: 'viewer',        summary: 'One pool',                                     params: name, answer: ok(Pool) },
  createPool:            { method: 'POST',   path: '/api/pools',                    access: 'administrator', summary: 'Create a pool',                                body: NewPool, answer: accepted(Job) },
  listImportable:        { method: 'GET',    path: '/api/pools/importable',         access: 'administrator', summary: 'Pools on disks of this machine that are not imported, and what is wrong with each', answer: ok(list(pool.ImportablePool)) },
  importPool:            { method: 'POST',   path: '/api/pools/import',             access: 'administrator', summary: 'Import a pool',                                body: pool.ImportInput, answer: accepted(Job) },
  exportPool:            { method: 'POST',   path: '/api/pools/:name/export',       access: 'administrator', summary: 'Give a pool up, so that another machine can import it', params: name, answer: accepted(Job) },
  destroyPool:           { method: 'DELETE', path: '/api/pools/:name',              access: 'administrator', summary: 'Destroy a pool and everything on it',          params: name, query: pool.ConfirmQuery, answer: accepted(Job) },
  scrubPool:             { method: 'POST',   path: '/api/pools/:name/scrub',        access: 'operator',      summary: 'Read and check everything on it: start, pause or stop', params: name, body: pool.ScrubInput, answer: ok(Pool) },
  listScans:             { method: 'GET',    path: '/api/pools/:name/scrubs',       access: 'viewer',        summary: 'Its scrubs and resilvers so far, newest first', params: name, answer: ok(list(pool.ScanRecord)) },
  getScrubSchedule:      { method: 'GET',    path: '/api/pools/:name/scrub-schedule', access: 'viewer',      summary: 'When it is scrubbed by itself',                params: name, answer: ok(pool.ScrubSchedule) },
  setScrubSchedule:      { method: 'PUT',    path: '/api/pools/:name/scrub-schedule', access: 'operator',    summary: 'Decide when it is scrubbed by itself',         params: name, body: pool.ScrubScheduleInput, answer: ok(pool.ScrubSchedule) },
  listDamagedFiles:      { method: 'GET',    path: '/api/pools/:name/damaged-files', access: 'viewer',       summary: 'Files that are damaged beyond repair, by name', params: name, answer: ok(pool.DamagedFiles) },
  trimPool:              { method: 'POST',   path: '/api/pools/:name/trim',         access: 'operator',      summary: 'Tell its disks which blocks are free: start, suspend or cancel', params: name, body: pool.TrimInput, answer: ok(Pool) },
  clearPool:             { method: 'POST',   path: '/api/pools/:name/clear',        access: 'operator',      summary: 'Forget the errors that were counted; a suspended pool goes on', params: name, body: pool.ClearInput, answer: ok(Pool) },
  onlineDevice:          { method: 'POST',   path: '/api/pools/:name/online',       access: 'operator',      summary: 'Take a device into use again',                 params: name, body: pool.DeviceInput, answer: ok(Pool) },
  offlineDevice:         { method: 'POST',   path: '/api/pools/:name/offline',      access: 'administrator', summary: 'Take a device out of use',                     params: name, body: pool.DeviceInput, answer: ok(Pool) },
  attachDisk:            { method: 'POST',   path: '/api/pools/:name/attach',       access: 'administrator', summary: 'Give a disk or a mirror another side; of the system pool, a disk to start from', params: name, body: pool.AttachInput, answer: accepted(Job) },
  detachDevice:          { method: 'POST',   path: '/api/pools/:name/detach',       access: 'administrator', summary: 'Take a side out of a mirror',                  params: name, body: pool.DeviceInput, answer: ok(Pool) },
  adviseReplacement:     { method: 'GET',    path: '/api/pools/:name/replace',      access: 'viewer',        summary: 'Which disks could replace a device, best first', params: name, query: pool.ReplaceQuery, answer: ok(pool.ReplaceAdvice) },
  replaceDisk:           { method: 'POST',   path: '/api/pools/:name/replace',      access: 'administrator', summary: 'Replace a device by a disk; the job ends with the resilver', params: name, body: pool.ReplaceInput, answer: accepted(Job) },
  addToPool:             { method: 'POST',   path: '/api/pools/:name/add',          access: 'administrator', summary: 'Add disks: data, spares, log, cache, special', params: name, body: pool.AddInput, answer: accepted(Job) },
  removeFromPool:        { method: 'POST',   path: '/api/pools/:name/remove',       access: 'administrator', summary: 'Take out a spare, log, cache, or a whole mirror', params: name, body: pool.RemoveInput, answer: accepted(Job) },
  setPoolProperties:     { method: 'PUT',    path: '/api/pools/:name/properties',   access: 'administrator', summary: 'autoexpand, autotrim, comment',                params: name, body: pool.PropertiesInput, answer: ok(Pool) },
  upgradePool:           { method: 'POST',   path: '/api/pools/:name/upgrade',      access: 'administrator', summary: 'Use all features that this system knows; an older one cannot import it then', params: name, answer: ok(Pool) },
  getPoolHistory:        { method: 'GET',    path: '/api/pools/:name/history',      access: 'viewer',        summary: 'What was done to it, by whom and when, newest first', params: name, answer: ok(pool.PoolHistory) },
  getDiskHealth:         { method: 'GET',    path: '/api/disks/:id/health',         access: 'viewer',        summary: 'How the disk says that it is (SMART)',         params: diskId, answer: ok(pool.DiskHealth) },
  locateDisk:            { method: 'POST',   path: '/api/disks/:id/locate',         access: 'operator',      summary: 'Switch the light of the disk’s slot',          params: diskId, body: pool.LocateInput, answer: ok(pool.LocateInput) },
  testDisk:              { method: 'POST',   path: '/api/disks/:id/self-test',      access: 'operator',      summary: 'Have the disk test itself, or stop that',      params: diskId, body: pool.SelfTestInput, answer: ok(pool.DiskHealth) },
  wipeDisk:              { method: 'POST',   path: '/api/disks/:id/wipe',           access: 'administrator', summary: 'Erase what says that a disk belongs to something', params: diskId, body: pool.WipeInput, answer: nothing },
  placeTelemetryOnSystem:{ method: 'POST',   path: '/api/pools/system/telemetry',   access: 'administrator', summary: 'Keep telemetry on the system pool (a machine with one disk)', answer: accepted(Job) },

  // A dataset's name holds slashes: it is given in the query, never in the path.
  listDatasets:          { method: 'GET',    path: '/api/datasets',                 access: 'viewer',        summary: 'File systems and volumes, a page at a time',   query: dataset.DatasetQuery, answer: ok(dataset.DatasetPage) },
  createDataset:         { method: 'POST',   path: '/api/datasets',                 access: 'administrator', summary: 'Create a file system or a volume',             body: dataset.NewDataset, answer: created(dataset.DatasetDetail) },
  listCompressions:      { method: 'GET',    path: '/api/datasets/compressions',    access: 'viewer',        summary: 'The compressions there are, with cost and benefit', answer: ok(list(CompressionChoice)) },
  getDataset:            { method: 'GET',    path: '/api/dataset',                  access: 'viewer',        summary: 'One dataset, with its properties and where their values come from', query: dataset.OneDataset, answer: ok(dataset.DatasetDetail) },
  updateDataset:         { method: 'PUT',    path: '/api/dataset',                  access: 'administrator', summary: 'Set properties, or reset them to what is inherited', query: dataset.OneDataset, body: dataset.DatasetChange, answer: ok(dataset.DatasetDetail) },
  destroyDataset:        { method: 'DELETE', path: '/api/dataset',                  access: 'administrator', summary: 'Destroy a dataset',                            query: dataset.OneDataset, body: dataset.DestroyDataset, answer: nothing },
  previewDestroyDataset: { method: 'GET',    path: '/api/dataset/destroy',          access: 'viewer',        summary: 'What destroying it would take along, and what hinders it', query: dataset.OneDataset, answer: ok(dataset.Hindrances) },
  renameDataset:         { method: 'POST',   path: '/api/dataset/rename',           access: 'administrator', summary: 'Rename a dataset, within its pool',            query: dataset.OneDataset, body: dataset.Rename, answer: ok(dataset.DatasetDetail) },
  mountDataset:          { method: 'POST',   path: '/api/dataset/mount',            access: 'administrator', summary: 'Mount a file system, or unmount it',           query: dataset.OneDataset, body: dataset.Mount, answer: ok(dataset.DatasetDetail) },
  changeDatasetKey:      { method: 'POST',   path: '/api/dataset/key',              access: 'administrator', summary: 'Load, unload or change the key of an encrypted dataset', query: dataset.OneDataset, body: dataset.KeyInput, answer: ok(dataset.DatasetDetail) },
  estimateCompression:   { method: 'POST',   path: '/api/dataset/compression-estimate', access: 'operator', summary: 'Compress samples of its own blocks; the result of the job is a CompressionEstimate', query: dataset.OneDataset, body: dataset.EstimateInput, answer: accepted(Job) },

  listSnapshots:         { method: 'GET',    path: '/api/snapshots',                access: 'viewer',        summary: 'Snapshots, a page at a time, newest first',    query: snapshot.SnapshotQuery, answer: ok(snapshot.SnapshotPage) },
  createSnapshots:       { method: 'POST',   path: '/api/snapshots',                access: 'operator',      summary: 'Take snapshots, all of one pool at one moment', body: snapshot.NewSnapshots, answer: created(snapshot.Taken) },
  destroySnapshots:      { method: 'POST',   path: '/api/snapshots/destroy',        access: 'administrator', summary: 'Destroy snapshots; what is refused is told with why', body: snapshot.DestroySnapshots, answer: ok(snapshot.DestroyedSnapshots) },
  holdSnapshots:         { method: 'POST',   path: '/api/snapshots/hold',           access: 'operator',      summary: 'Hold snapshots: they cannot be destroyed',     body: snapshot.HoldInput, answer: nothing },
  releaseSnapshots:      { method: 'POST',   path: '/api/snapshots/release',        access: 'administrator', summary: 'Release a hold',                               body: snapshot.HoldInput, answer: nothing },
  getSnapshot:           { method: 'GET',    path: '/api/snapshot',                 access: 'viewer',        summary: 'One snapshot, with who holds it',              query: snapshot.OneSnapshot, answer: ok(snapshot.SnapshotDetail) },
  renameSnapshot:        { method: 'POST',   path: '/api/snapshot/rename',          access: 'administrator', summary: 'Rename a snapshot',                            query: snapshot.OneSnapshot, body: snapshot.RenameSnapshot, answer: ok(snapshot.Snapshot) },
  cloneSnapshot:         { method: 'POST',   path: '/api/snapshot/clone',           access: 'administrator', summary: 'Make a dataset that begins as the snapshot is', query: snapshot.OneSnapshot, body: snapshot.CloneInput, answer: nothing },
  previewRollback:       { method: 'GET',    path: '/api/snapshot/rollback',        access: 'viewer',        summary: 'What a rollback would lose, by name and size', query: snapshot.OneSnapshot, answer: ok(snapshot.RollbackPreview) },
  rollback:              { method: 'POST',   path: '/api/snapshot/rollback',        access: 'administrator', summary: 'Bring a dataset back to a snapshot',           query: snapshot.OneSnapshot, body: snapshot.RollbackInput, answer: accepted(Job) },
  diffSnapshot:          { method: 'GET',    path: '/api/snapshot/diff',            access: 'administrator', summary: 'Which files changed since, or up to a later snapshot', query: snapshot.DiffQuery, answer: ok(snapshot.DiffPage) },
  listSnapshotFiles:     { method: 'GET',    path: '/api/snapshot/files',           access: 'administrator', summary: 'A directory of a snapshot',                    query: snapshot.FilesQuery, answer: ok(snapshot.FileList) },
  downloadSnapshotFile:  { method: 'GET',    path: '/api/snapshot/file',            access: 'administrator', summary: 'A file of a snapshot',                         query: snapshot.FileQuery, answer: stream('application/octet-stream') },
  listSnapshotSchedules: { method: 'GET',    path: '/api/snapshot-schedules',       access: 'viewer',        summary: 'When snapshots are taken and how many are kept', query: snapshot.ScheduleQuery, answer: ok(list(snapshot.SnapshotSchedule)) },
  createSnapshotSchedule:{ method: 'POST',   path: '/api/snapshot-schedules',       access: 'operator',      summary: 'Add a schedule',                               body: snapshot.SnapshotScheduleInput, answer: created(snapshot.SnapshotSchedule) },
  updateSnapshotSchedule:{ method: 'PUT',    path: '/api/snapshot-schedules/:id',   access: 'operator',      summary: 'Change a schedule',                            params: id, body: snapshot.SnapshotScheduleInput, answer: ok(snapshot.SnapshotSchedule) },
  deleteSnapshotSchedule:{ method: 'DELETE', path: '/api/snapshot-schedules/:id',   access: 'operator',      summary: 'Remove a schedule; its snapshots stay',        params: id, answer: nothing },

  listReplications:      { method: 'GET',    path: '/api/replications',             access: 'viewer',        summary: 'What is replicated where, and how far behind it is', answer: ok(list(replication.Replication)) },
  createReplication:     { method: 'POST',   path: '/api/replications',             access: 'administrator', summary: 'Replicate a dataset to another pool or machine', body: replication.ReplicationInput, answer: created(replication.Replication) },
  updateReplication:     { method: 'PUT',    path: '/api/replications/:id',         access: 'administrator', summary: 'Change a replication',                         params: id, body: replication.ReplicationInput, answer: ok(replication.Replication) },
  deleteReplication:     { method: 'DELETE', path: '/api/replications/:id',         access: 'administrator', summary: 'End a replication; what has arrived stays there', params: id, answer: nothing },
  runReplication:        { method: 'POST',   path: '/api/replications/:id/run',     access: 'operator',      summary: 'Replicate now',                                params: id, answer: accepted(Job) },
  askHostKey:            { method: 'POST',   path: '/api/replications/host-key',    access: 'administrator', summary: 'Ask a machine for its key, to be confirmed',   body: replication.HostInput, answer: ok(replication.HostKey) },
  lookAtTarget:          { method: 'POST',   path: '/api/replications/look',        access: 'administrator', summary: 'What there is at a target, and what a replication would do', body: replication.LookInput, answer: ok(replication.TargetLook) },
  listSenders:           { method: 'GET',    path: '/api/replication-senders',      access: 'viewer',        summary: 'Who may replicate to here, and this appliance’s own key', answer: ok(replication.SenderList) },
  createSender:          { method: 'POST',   path: '/api/replication-senders',      access: 'administrator', summary: 'Let a machine replicate to here',              body: replication.SenderInput, answer: created(replication.Sender) },
  deleteSender:          { method: 'DELETE', path: '/api/replication-senders/:id',  access: 'administrator', summary: 'Let a machine in no more; what it sent stays',  params: id, answer: nothing },

  // A statistic's name holds brackets and what people and programs put into them: it is given in the query or the body.
  // Viewers may watch what costs nothing or is recorded anyway (analytics.ts); what costs something is an operator's.
  listStatistics:        { method: 'GET',    path: '/api/statistics',               access: 'viewer',        summary: 'The catalogue: every statistic of this machine, what it says and what it costs', answer: ok(list(analytics.Statistic)) },
  listStatisticDatasets: { method: 'GET',    path: '/api/analytics/datasets',       access: 'viewer',        summary: 'What is being measured or recorded',           answer: ok(list(analytics.MeasuredDataset)) },
  getStatisticDataset:   { method: 'GET',    path: '/api/analytics/dataset',        access: 'viewer',        summary: 'One of them',                                  query: analytics.OneStatisticDataset, answer: ok(analytics.StatisticDataset) },
  watchStatistic:        { method: 'POST',   path: '/api/analytics/dataset/watch',  access: 'viewer',        summary: 'Have it measured for 30 s more; what costs something, only operators may begin', body: analytics.OneStatisticDataset, answer: ok(analytics.StatisticDataset) },
  recordStatistic:       { method: 'POST',   path: '/api/analytics/dataset/record', access: 'operator',      summary: 'Have it measured also when nobody looks, or no longer', body: analytics.RecordInput, answer: ok(analytics.StatisticDataset) },
  suspendStatistic:      { method: 'POST',   path: '/api/analytics/dataset/suspend', access: 'operator',     summary: 'Stop measuring it for now',                    body: analytics.OneStatisticDataset, answer: ok(analytics.StatisticDataset) },
  resumeStatistic:       { method: 'POST',   path: '/api/analytics/dataset/resume', access: 'operator',      summary: 'Go on measuring it',                           body: analytics.OneStatisticDataset, answer: ok(analytics.StatisticDataset) },
  destroyStatistic:      { method: 'DELETE', path: '/api/analytics/dataset',        access: 'operator',      summary: 'Stop measuring it and forget it; its series stay until their retention ends', query: analytics.OneStatisticDataset, answer: nothing },
  getStacks:             { method: 'GET',    path: '/api/analytics/stacks',         access: 'viewer',        summary: 'Stacks of a profile, for a flame graph',       query: analytics.StacksQuery, answer: ok(analytics.Stacks) },
  listMarks:             { method: 'GET',    path: '/api/analytics/marks',          access: 'viewer',        summary: 'Alerts, snapshots, scrubs and changes, for the time axis', query: analytics.MarksQuery, answer: ok(analytics.Marks) },

  getRetention:          { method: 'GET',    path: '/api/retention',                access: 'viewer',        summary: 'How long measurements are kept, by granularity, and what is stored', answer: ok(Retention) },
  setRetention:          { method: 'PUT',    path: '/api/retention',                access: 'administrator', summary: 'Keep measurements longer, or let old ones go; what has gone does not come back', body: RetentionInput, answer: ok(Retention) },

  listWorksheets:        { method: 'GET',    path: '/api/worksheets',               access: 'viewer',        summary: 'The ready worksheets, the shared ones and one’s own', answer: ok(list(worksheet.Worksheet)) },
  createWorksheet:       { method: 'POST',   path: '/api/worksheets',               access: 'viewer',        summary: 'Add a worksheet',                              body: worksheet.WorksheetInput, answer: created(worksheet.Worksheet) },
  importWorksheet:       { method: 'POST',   path: '/api/worksheets/import',        access: 'viewer',        summary: 'Add a worksheet from a file that was exported', body: worksheet.WorksheetFile, answer: created(worksheet.Worksheet) },
  getWorksheet:          { method: 'GET',    path: '/api/worksheets/:id',           access: 'viewer',        summary: 'One worksheet',                                params: id, answer: ok(worksheet.Worksheet) },
  updateWorksheet:       { method: 'PUT',    path: '/api/worksheets/:id',           access: 'viewer',        summary: 'Change a worksheet of one’s own',              params: id, body: worksheet.WorksheetInput, answer: ok(worksheet.Worksheet) },
  deleteWorksheet:       { method: 'DELETE', path: '/api/worksheets/:id',           access: 'viewer',        summary: 'Delete a worksheet of one’s own; what it recorded stays', params: id, answer: nothing },
  exportWorksheet:       { method: 'GET',    path: '/api/worksheets/:id/export',    access: 'viewer',        summary: 'A worksheet as a file',                        params: id, answer: ok(worksheet.WorksheetFile) },
  suspendWorksheet:      { method: 'POST',   path: '/api/worksheets/:id/suspend',   access: 'operator',      summary: 'Suspend all of its statistics',                params: id, answer: ok(worksheet.WorksheetChange) },
  resumeWorksheet:       { method: 'POST',   path: '/api/worksheets/:id/resume',    access: 'operator',      summary: 'Resume all of its statistics',                 params: id, answer: ok(worksheet.WorksheetChange) },

  listJobs:              { method: 'GET',    path: '/api/jobs',                     access: 'viewer',        summary: 'Running and recent jobs, newest first',        answer: ok(list(Job)) },
  getJob:                { method: 'GET',    path: '/api/jobs/:id',                 access: 'viewer',        summary: 'One job',                                      params: id, answer: ok(Job) },
  cancelJob:             { method: 'POST',   path: '/api/jobs/:id/cancel',          access: 'operator',      summary: 'Ask a job to stop',                            params: id, answer: ok(Job) },

  listDestinations:      { method: 'GET',    path: '/api/destinations',             access: 'viewer',        summary: 'Where alerts go',                              answer: ok(list(Destination)) },
  createDestination:     { method: 'POST',   path: '/api/destinations',             access: 'operator',      summary: 'Add a destination',                            body: DestinationInput, answer: created(Destination) },
  updateDestination:     { method: 'PUT',    path: '/api/destinations/:id',         access: 'operator',      summary: 'Change a destination',                         params: id, body: DestinationInput, answer: ok(Destination) },
  deleteDestination:     { method: 'DELETE', path: '/api/destinations/:id',         access: 'operator',      summary: 'Remove a destination',                         params: id, answer: nothing },
  testDestination:       { method: 'POST',   path: '/api/destinations/test',        access: 'operator',      summary: 'Send a test message now and show the exchange', body: DestinationTest, answer: ok(TestResult) },
  getDigest:             { method: 'GET',    path: '/api/alert-digest',             access: 'viewer',        summary: 'Whether what is not urgent is told once a day', answer: ok(alert.DigestSettings) },
  setDigest:             { method: 'PUT',    path: '/api/alert-digest',             access: 'operator',      summary: 'Decide what is told once a day, and when', body: alert.DigestSettings, answer: ok(alert.DigestSettings) },

  getSnmpAgent:          { method: 'GET',    path: '/api/snmp-agent',               access: 'viewer',        summary: 'Who may poll this appliance by SNMP',          answer: ok(SnmpAgent) },
  setSnmpAgent:          { method: 'PUT',    path: '/api/snmp-agent',               access: 'administrator', summary: 'Decide who may poll this appliance by SNMP',   body: SnmpAgentInput, answer: ok(SnmpAgent) },

  listThresholds:        { method: 'GET',    path: '/api/thresholds',               access: 'viewer',        summary: 'The threshold rules and their state',          answer: ok(list(Threshold)) },
  createThreshold:       { method: 'POST',   path: '/api/thresholds',               access: 'operator',      summary: 'Add a rule',                                   body: ThresholdInput, answer: created(Threshold) },
  updateThreshold:       { method: 'PUT',    path: '/api/thresholds/:id',           access: 'operator',      summary: 'Change a rule',                                params: id, body: ThresholdInput, answer: ok(Threshold) },
  deleteThreshold:       { method: 'DELETE', path: '/api/thresholds/:id',           access: 'operator',      summary: 'Remove a rule; its active alerts are cleared', params: id, answer: nothing },
  previewThreshold:      { method: 'POST',   path: '/api/thresholds/preview',       access: 'operator',      summary: 'What a rule would say now, and when it would have fired',                    body: ThresholdPreviewInput, answer: ok(ThresholdPreview) },
  forgetSeries:          { method: 'POST',   path: '/api/thresholds/:id/forget',   access: 'operator',      summary: 'Forget a series that is gone for good; its alerts are cleared', params: id, body: ForgetInput, answer: ok(Threshold) },

  listAlerts:            { method: 'GET',    path: '/api/alerts',                   access: 'viewer',        summary: 'Alerts, newest first',                         query: alert.AlertQuery, answer: ok(list(alert.Alert)) },
  exportAlerts:          { method: 'GET',    path: '/api/alerts/export',            access: 'viewer',        summary: 'The log of alerts as a file',                  query: alert.AlertExportQuery, answer: stream('application/octet-stream') },
  getAlert:              { method: 'GET',    path: '/api/alerts/:id',               access: 'viewer',        summary: 'One alert',                                    params: id, answer: ok(alert.Alert) },
  acknowledgeAlert:      { method: 'POST',   path: '/api/alerts/:id/acknowledge',   access: 'operator',      summary: 'Say that somebody is on it: it is not repeated and not escalated', params: id, body: alert.AcknowledgeInput, answer: ok(alert.Alert) },
  takeBackAcknowledgement: { method: 'DELETE', path: '/api/alerts/:id/acknowledge', access: 'operator',      summary: 'Take an acknowledgement back',                 params: id, answer: ok(alert.Alert) },
  listSilences:          { method: 'GET',    path: '/api/silences',                 access: 'viewer',        summary: 'Silences and maintenance windows, also those that ended', answer: ok(list(alert.Silence)) },
  createSilence:         { method: 'POST',   path: '/api/silences',                 access: 'operator',      summary: 'Hold alerts back for a time',                  body: alert.SilenceInput, answer: created(alert.Silence) },
  updateSilence:         { method: 'PUT',    path: '/api/silences/:id',             access: 'operator',      summary: 'Change a silence that has not ended',          params: id, body: alert.SilenceInput, answer: ok(alert.Silence) },
  endSilence:            { method: 'POST',   path: '/api/silences/:id/end',         access: 'operator',      summary: 'End it now; what is still active is sent',     params: id, answer: ok(alert.Silence) },
  listAlertClasses:      { method: 'GET',    path: '/api/alert-classes',            access: 'viewer',        summary: 'Every kind of alert that can be raised, and where it goes', answer: ok(list(alert.AlertKind)) },
  routeAlertClass:       { method: 'PUT',    path: '/api/alert-classes/:name',      access: 'operator',      summary: 'Decide where alerts of a class go',            params: name, body: alert.ClassRoute, answer: ok(alert.AlertKind) },

  listBundles:           { method: 'GET',    path: '/api/bundles',                  access: 'operator',      summary: 'Support bundles',                              answer: ok(list(Bundle)) },
  createBundle:          { method: 'POST',   path: '/api/bundles',                  access: 'operator',      summary: 'Make a support bundle',                        body: NewBundle, answer: accepted(Bundle) },
  getBundle:             { method: 'GET',    path: '/api/bundles/:id',              access: 'operator',      summary: 'One bundle',                                   params: id, answer: ok(Bundle) },
  deleteBundle:          { method: 'DELETE', path: '/api/bundles/:id',              access: 'operator',      summary: 'Remove a bundle, or cancel one being made',    params: id, answer: nothing },
  downloadBundle:        { method: 'GET',    path: '/api/bundles/:id/content',      access: 'operator',      summary: "A bundle's content; Range is allowed",         params: id, answer: stream('application/zstd') },
  retryBundle:           { method: 'POST',   path: '/api/bundles/:id/retry',        access: 'operator',      summary: 'Run the failed steps of a bundle again',       params: id, answer: accepted(Bundle) },
  getBundleOptions:      { method: 'GET',    path: '/api/bundle-options',           access: 'operator',      summary: 'What a bundle may hold, and where it may be written', answer: ok(BundleOptions) },

  listCrashes:           { method: 'GET',    path: '/api/crashes',                  access: 'operator',      summary: 'Processes that crashed, the newest first',     answer: ok(list(Crash)) },
  dismissCrash:          { method: 'DELETE', path: '/api/crashes/:id',              access: 'operator',      summary: 'Say that a crash was seen: its alert ends until it happens again', params: id, answer: nothing },

  getMachine:            { method: 'GET',    path: '/api/machine',                  access: 'viewer',        summary: 'How its clock is kept, its network links and temperatures', answer: ok(Machine) },
  forgetLink:            { method: 'DELETE', path: '/api/machine/links/:name',      access: 'operator',      summary: 'Say that a network link which is down is meant to be', params: LinkName, answer: nothing },

  listSystems:           { method: 'GET',    path: '/api/systems',                  access: 'viewer',        summary: 'The installed systems: which one runs, which one starts next time', answer: ok(list(InstalledSystem)) },
  activateSystem:        { method: 'POST',   path: '/api/systems/:name/activate',   access: 'administrator', summary: 'Have another system start next time; nothing is restarted', params: SystemName, answer: ok(list(InstalledSystem)) },

  readLogs:              { method: 'GET',    path: '/api/logs',                     access: 'operator',      summary: 'Lines of the logs, the newest first',          query: log.LogQuery, answer: ok(log.LogPage) },
  followLogs:            { method: 'GET',    path: '/api/logs/live',                access: 'operator',      summary: 'Lines of the logs as they come: server-sent events, each a LogLine', query: log.LiveLogQuery, answer: stream('text/event-stream') },
  readRequests:          { method: 'GET',    path: '/api/requests',                 access: 'operator',      summary: 'Requests that the web server answered, the newest first', query: log.RequestQuery, answer: ok(log.RequestPage) },
  followRequests:        { method: 'GET',    path: '/api/requests/live',            access: 'operator',      summary: 'Requests as they are answered: server-sent events, each an HttpRequest', query: log.LiveRequestQuery, answer: stream('text/event-stream') },

  listTokens:            { method: 'GET',    path: '/api/tokens',                   access: 'administrator', summary: 'API tokens',                                   answer: ok(list(Token)) },
  createToken:           { method: 'POST',   path: '/api/tokens',                   access: 'administrator', summary: 'Make an API token; the answer is the only place it is shown', body: NewToken, answer: created(Token) },
  deleteToken:           { method: 'DELETE', path: '/api/tokens/:id',               access: 'administrator', summary: 'Withdraw an API token',                        params: id, answer: nothing },

  listUsers:             { method: 'GET',    path: '/api/users',                    access: 'administrator', summary: 'Who may sign in',                              answer: ok(list(User)) },
  listAudit:             { method: 'GET',    path: '/api/audit',                    access: 'administrator', summary: 'Who changed what, newest first',               query: AuditQuery, answer: ok(list(AuditEntry)) },
  listTimeZones:         { method: 'GET',    path: '/api/timezones',                access: 'anyone',        summary: 'The time zones that can be chosen',            answer: ok(list(Type.String())) },
  watchEvents:           { method: 'GET',    path: '/api/events',                   access: 'viewer',        summary: 'What changes, as server-sent events named `change` that carry a Change', answer: stream('text/event-stream') },
  power:                 { method: 'POST',   path: '/api/power',                    access: 'administrator', summary: 'Reboot or switch off',                         body: Power, answer: nothing },

  authorize:             { method: 'GET',    path: '/internal/authorize',           access: 'nginx',         summary: "May this request go to storaged? nginx's auth_request asks", answer: nothing },
  simulate:              { method: 'POST',   path: '/internal/sim/:name',           access: 'simulation',    summary: 'Make something fail, or well again',           params: name, body: Type.Record(Type.String(), Type.Unknown()), answer: nothing },
} as const satisfies Record<string, Route>;

export type Routes = typeof routes;
export type RouteId = keyof Routes;

type Part<R, K extends string> = R extends { readonly [P in K]: infer S }
  ? S extends TSchema
    ? Static<S>
    : never
  : undefined;
export type Params<Id extends RouteId> = Part<Routes[Id], 'params'>;
export type Query<Id extends RouteId> = Part<Routes[Id], 'query'>;
export type Body<Id extends RouteId> = Part<Routes[Id], 'body'>;
export type Reply<Id extends RouteId> = Routes[Id]['answer']['schema'] extends infer S
  ? S extends TSchema
    ? Static<S>
    : undefined
  : never;
