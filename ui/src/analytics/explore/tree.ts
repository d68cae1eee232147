// Names with dots as a tree: shop.eu.orders stands below “shop.”. A branch holds two metrics or more; where all of a branch
// go on in the same way, that is one branch.
import type { Metric } from '../../api/telemetry.ts';

export interface Branch {
  /** Up to and with its last dot; empty: the root. */
  readonly prefix: string;
  /** Of all metrics below it. */
  readonly count: number;
  readonly branches: readonly Branch[];
  /** Those that are in no branch of it. */
  readonly metrics: readonly Metric[];
}

/** Fewer than these are a list. */
const FEW = 20;

/** @param metrics in the order of their names */
export function treeOf(metrics: readonly Metric[], prefix = ''): Branch {
  const count = metrics.length;
  if (prefix === '' && count < FEW) return { prefix, count, branches: [], metrics };
  const groups = new Map<string, Metric[]>();
  const own: Metric[] = [];
  for (const metric of metrics) {
    const dot = metric.name.indexOf('.', prefix.length);
    // A dot at the end of a name leads nowhere.
    if (dot < 0 || dot === metric.name.length - 1) own.push(metric);
    else {
      const below = metric.name.slice(0, dot + 1);
      const group = groups.get(below);
      if (group === undefined) groups.set(below, [metric]);
      else group.push(metric);
    }
  }
  const branches: Branch[] = [];
  for (const [below, group] of groups) {
    if (group.length === 1) own.push(group[0] as Metric);
    else {
      const branch = treeOf(group, below);
      const [only] = branch.branches;
      branches.push(branch.metrics.length === 0 && branch.branches.length === 1 && only !== undefined ? only : branch);
    }
  }
  return { prefix, count, branches, metrics: own.sort((a, b) => (a.name < b.name ? -1 : 1)) };
}

const DAY = 86_400;
/** How long the store must have been there before something in it can be new. */
const SETTLED = 2 * DAY;

/** Whether a metric has come within the last day. @param oldest of all that is stored, in seconds @param now in seconds */
export const isNew = (metric: Metric, oldest: number, now: number): boolean =>
  metric.firstTime > now - DAY && oldest < now - SETTLED;
