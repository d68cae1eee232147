// Conditions of datasets: a quota that is nearly reached, a key that is not loaded.

import type { Conditions } from '../../alerting/alerts/index.ts';
import { datasetFull, datasetLocked } from './alerts.ts';
import { NEARLY } from './datasets.ts';
import type { Tree } from './tree.ts';

/** Below this it counts as well again: a quota at its edge must not raise an alert a minute. */
const WELL = NEARLY - 0.03;

export class DatasetConditions {
  readonly #tree: Tree;
  readonly #conditions: Conditions;
  readonly #others: (() => void)[] = [];
  readonly #full = new Set<string>();

  constructor(tree: Tree, conditions: Conditions) {
    this.#tree = tree;
    this.#conditions = conditions;
  }

  /** What else is reported in each look: of snapshots, replications. */
  add(report: () => void): void {
    this.#others.push(report);
  }

  async look(): Promise<void> {
    const conditions = this.#conditions;
    const { datasets, error } = await this.#tree.watch();
    for (const report of this.#others) report();
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
