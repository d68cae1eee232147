// Looks at the datasets for what somebody should be told: a quota that is nearly reached, a key that is not loaded, a
// schedule that fails, a replication that fails or is behind.

import type { Conditions } from '../../alerting/alerts/conditions.ts';
import {
  datasetFull,
  datasetLocked,
  replicationFailed,
  replicationLate,
  snapshotsFailed,
} from '../../alerting/catalogue/catalogue.ts';
import type { Replications } from '../replication/replications.ts';
import type { SnapshotSchedules } from '../snapshots/schedules.ts';
import { NEARLY } from './datasets.ts';
import type { Tree } from './tree.ts';

/** Below this it counts as well again: a quota at its edge must not raise an alert a minute. */
const WELL = NEARLY - 0.03;

export class DatasetConditions {
  readonly #parts: { tree: Tree; schedules: SnapshotSchedules; replications: Replications; conditions: Conditions };
  readonly #full = new Set<string>();

  constructor(parts: { tree: Tree; schedules: SnapshotSchedules; replications: Replications; conditions: Conditions }) {
    this.#parts = parts;
  }

  async look(): Promise<void> {
    const { tree, schedules, replications, conditions } = this.#parts;
    const { datasets, error } = await tree.get();
    conditions.report(
      snapshotsFailed,
      schedules.failing().map((args) => ({ args })),
    );
    conditions.report(
      replicationFailed,
      replications.failing().map((args) => ({ args })),
    );
    conditions.report(
      replicationLate,
      replications.late().map((args) => ({ args })),
    );
    // Not knowing is no reason to clear.
    if (error !== null) return;
    const full = datasets.flatMap(({ name, quota }) => {
      const ratio = quota === null ? 0 : quota.used / quota.bytes;
      return quota !== null && ratio >= (this.#full.has(name) ? WELL : NEARLY) ? [{ dataset: name, ...quota }] : [];
    });
    this.#full.clear();
    for (const { dataset } of full) this.#full.add(dataset);
    conditions.report(
      datasetFull,
      full.map(({ dataset, used, bytes }) => ({ args: { dataset, used, bytes } })),
    );
    conditions.report(
      datasetLocked,
      datasets
        .filter(({ name, encryptionRoot, keyStatus }) => encryptionRoot === name && keyStatus === 'unavailable')
        .map(({ name: dataset }) => ({ args: { dataset } })),
    );
  }
}
