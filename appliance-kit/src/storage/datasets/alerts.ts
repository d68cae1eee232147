// The alerts that this domain can raise: what the pages, the mails and the traps say of each.
import { alertClass } from '../../alerting/catalogue/alert-class.ts';
import { percent, size } from '../../base/words.ts';
import { poolKeysOf } from '../pools/index.ts';

const datasetPage = ({ dataset }: { dataset: string }) => `/storage/datasets/${encodeURIComponent(dataset)}`;

export interface FullDatasetArgs {
  readonly dataset: string;
  readonly used: number;
  /** The quota. */
  readonly bytes: number;
}

export const datasetFull = alertClass<FullDatasetArgs>({
  class: 'dataset.full',
  severity: () => 'warning',
  title: ({ dataset }) => `The quota of “${dataset}” is nearly reached`,
  text: ({ dataset, used, bytes }) =>
    `“${dataset}” has used ${size(used)} of its quota of ${size(bytes)} (${percent(used / bytes)}).`,
  impact: () => 'When the quota is reached, writing to it fails.',
  response: () => 'The appliance goes on writing until the quota is reached.',
  action: () => 'Raise the quota, or destroy snapshots and data that are not needed.',
  page: datasetPage,
  labels: ({ dataset }) => ({ dataset }),
  dedupKey: ({ dataset }) => `dataset.full/${dataset}`,
  example: { dataset: 'tank/home', used: 9 * 2 ** 30, bytes: 10 * 2 ** 30 },
  dedupExample: 'dataset.full/tank/home',
  dependsOn: ({ dataset }) => poolKeysOf(dataset),
  visibleAfterSeconds: 0,
});

export interface LockedDatasetArgs {
  readonly dataset: string;
}

export const datasetLocked = alertClass<LockedDatasetArgs>({
  class: 'dataset.locked',
  severity: () => 'warning',
  title: ({ dataset }) => `The key of “${dataset}” is not loaded`,
  text: ({ dataset }) => `“${dataset}” is encrypted, and its key is not loaded.`,
  impact: () => 'Nothing of it can be read or written until the key is loaded.',
  response: () => 'Keys in files are loaded when the appliance starts; a passphrase must be entered.',
  action: () => 'Load the key on the page of the dataset.',
  page: datasetPage,
  labels: ({ dataset }) => ({ dataset }),
  dedupKey: ({ dataset }) => `dataset.locked/${dataset}`,
  example: { dataset: 'tank/home' },
  dedupExample: 'dataset.locked/tank/home',
  dependsOn: ({ dataset }) => poolKeysOf(dataset),
  visibleAfterSeconds: 0,
});

export const alertClasses = [datasetFull, datasetLocked] as const;
