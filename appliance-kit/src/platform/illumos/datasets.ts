// Datasets and snapshots on illumos: the same commands with the same output as far as they are used here (zfs(8): -H, -p,
// -o of list, get, holds; diff -H -F -t), without zstd, relatime and records above 1 MiB. Not run on illumos yet.

import type { Command } from '../command.ts';
import { ILLUMOS_FACTS } from '../datasets.ts';
import type { Execd } from '../execd.ts';
import { ZfsDatasets } from '../zfs/datasets.ts';

export function illumosDatasets(parts: { command: Command; execd: Execd }): ZfsDatasets {
  return new ZfsDatasets({ ...parts, facts: ILLUMOS_FACTS });
}
