// The alerts that this domain can raise: what the pages, the mails and the traps say of each.
import { alertClass } from '../../alerting/catalogue/alert-class.ts';
import { duration, size } from '../../base/words.ts';
import { poolKeysOf } from '../pools/index.ts';

export interface FailedReplicationArgs {
  readonly id: string;
  readonly dataset: string;
  /** In words. */
  readonly target: string;
  readonly failure: string;
  readonly action: string;
}

export const replicationFailed = alertClass<FailedReplicationArgs>({
  class: 'replication.failed',
  severity: () => 'warning',
  title: ({ dataset }) => `The replication of “${dataset}” fails`,
  text: ({ dataset, target, failure }) => `“${dataset}” was not replicated to ${target}. ${failure}`,
  impact: () => 'The target falls behind. What it has is complete up to the last replication that succeeded.',
  response: () => 'It is tried again. Nothing at the target is destroyed or overwritten to make it fit.',
  action: ({ action }) => action || 'See what went wrong, and replicate by hand once it is fixed.',
  page: () => '/storage/replication',
  labels: ({ dataset }) => ({ dataset }),
  dedupKey: ({ id }) => `replication.failed/${id}`,
  example: {
    id: 'ss-0mi5x3k9f-3f9c2b7a10',
    dataset: 'tank/home',
    target: '“backup/home” on backup.example',
    failure: 'There is no space.',
    action: 'Make room.',
  },
  dedupExample: 'replication.failed/ss-0mi5x3k9f-3f9c2b7a10',
  dependsOn: ({ dataset }) => poolKeysOf(dataset),
  visibleAfterSeconds: 0,
});

export interface LateReplicationArgs {
  readonly id: string;
  readonly dataset: string;
  readonly target: string;
  readonly lagSeconds: number;
}

export const replicationLate = alertClass<LateReplicationArgs>({
  class: 'replication.late',
  severity: () => 'warning',
  title: ({ dataset }) => `The replication of “${dataset}” is behind`,
  text: ({ dataset, target, lagSeconds }) =>
    `What ${target} has of “${dataset}” is ${duration(lagSeconds)} old, which is more than was asked for.`,
  impact: ({ lagSeconds }) => `If this side is lost now, the last ${duration(lagSeconds)} are lost with it.`,
  response: () => 'It goes on by its schedule, from the newest snapshot that both sides have.',
  action: () => 'Check whether it runs, its last result, and whether the link is fast enough for the amount written.',
  page: () => '/storage/replication',
  labels: ({ dataset }) => ({ dataset }),
  dedupKey: ({ id }) => `replication.late/${id}`,
  example: {
    id: 'ss-0mi5x3k9f-3f9c2b7a10',
    dataset: 'tank/home',
    target: '“backup/home” on backup.example',
    lagSeconds: 7200,
  },
  dedupExample: 'replication.late/ss-0mi5x3k9f-3f9c2b7a10',
  dependsOn: ({ id }) => [`replication.failed/${id}`],
  visibleAfterSeconds: 0,
});

export interface FinishedReplicationArgs {
  readonly id: string;
  readonly dataset: string;
  readonly target: string;
  readonly snapshot: string;
  readonly bytes: number;
}

export const replicationFinished = alertClass<FinishedReplicationArgs>({
  class: 'replication.finished',
  severity: () => 'info',
  title: ({ dataset }) => `“${dataset}” has been replicated`,
  text: ({ dataset, target, snapshot, bytes }) =>
    `“${dataset}” has been replicated to ${target}, up to the snapshot ${snapshot}: ${size(bytes)} were sent.`,
  impact: () => 'The target has what this side had when the snapshot was taken.',
  response: () => 'It goes on by its schedule.',
  action: () => 'Nothing needs to be done.',
  page: () => '/storage/replication',
  labels: ({ dataset }) => ({ dataset }),
  dedupKey: ({ id, snapshot }) => `replication.finished/${id}/${snapshot}`,
  example: {
    id: 'ss-0mi5x3k9f-3f9c2b7a10',
    dataset: 'tank/home',
    target: '“backup/home” on backup.example',
    snapshot: 'replicate-2026-01-01-0200',
    bytes: 4096,
  },
  dedupExample: 'replication.finished/ss-0mi5x3k9f-3f9c2b7a10/replicate-2026-01-01-0200',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
  transient: true,
  muted: true,
  optional: true,
});

export const alertClasses = [replicationFailed, replicationLate, replicationFinished] as const;
