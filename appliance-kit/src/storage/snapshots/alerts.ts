// The alerts that this domain can raise: what the pages, the mails and the traps say of each.
import { alertClass } from '../../alerting/catalogue/alert-class.ts';
import { poolKeysOf } from '../pools/index.ts';

export interface FailedSnapshotsArgs {
  readonly id: string;
  readonly dataset: string;
  /** What went wrong, as a sentence. */
  readonly failure: string;
}

export const snapshotsFailed = alertClass<FailedSnapshotsArgs>({
  class: 'snapshots.failed',
  severity: () => 'warning',
  title: ({ dataset }) => `The scheduled snapshots of “${dataset}” fail`,
  text: ({ dataset, failure }) =>
    `The last scheduled snapshot of “${dataset}” was not taken as it should be. ${failure}`,
  impact: () => 'What is changed or deleted from now on may not be in any snapshot.',
  response: () => 'It is tried again at its next time. Snapshots that were taken before are kept.',
  action: () => 'See what went wrong, and take a snapshot by hand. A schedule whose dataset is gone can be deleted.',
  page: () => '/storage/schedules',
  labels: ({ dataset }) => ({ dataset }),
  dedupKey: ({ id }) => `snapshots.failed/${id}`,
  example: { id: 'ss-0mi5x3k9f-3f9c2b7a10', dataset: 'tank/home', failure: 'There is no space.' },
  dedupExample: 'snapshots.failed/ss-0mi5x3k9f-3f9c2b7a10',
  dependsOn: ({ dataset }) => poolKeysOf(dataset),
  visibleAfterSeconds: 0,
});

export const alertClasses = [snapshotsFailed] as const;
