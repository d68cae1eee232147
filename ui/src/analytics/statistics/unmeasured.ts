// A dataset that is not measured now, as the catalogue describes it: what was recorded of it can still be drawn.
import type { Dataset, Name, Statistic } from './statistic.ts';

/** As the catalogue would say; without it the name has to. */
export function unitOfName(statistic: string): string {
  const what = statistic.split('.').at(-1) ?? '';
  return what === 'bytes' ? 'bytes' : what === 'utilization' || what === 'percent' ? 'percent' : 'count';
}

const DISTRIBUTIONS = new Set(['latency', 'size', 'offset']);

/** What can be drawn of a statistic that is not measured now: what was recorded of it is in the store. */
export function unmeasured(text: string, name: Name, statistic: Statistic | undefined): Dataset {
  const breakdown = statistic?.breakdowns.find((one) => one.name === name.breakdown);
  const distribution =
    breakdown?.kind === 'distribution' || (breakdown === undefined && DISTRIBUTIONS.has(name.breakdown ?? ''));
  const metric = `cistern_${name.statistic.replaceAll('.', '_')}`;
  const quoted = text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
  return {
    name: text,
    statistic: name.statistic,
    filters: name.filters.map(([filter, value]) => [filter, value]),
    breakdown: name.breakdown,
    kind: distribution ? 'histogram' : name.statistic === 'cpu.profile' ? 'stacks' : 'series',
    unit: distribution
      ? (breakdown?.unit ?? (name.breakdown === 'latency' ? 'seconds' : 'bytes'))
      : (statistic?.unit ?? unitOfName(name.statistic)),
    metric,
    selector: `${metric}{dataset="${quoted}"}`,
    state: 'stopped',
    since: '',
    reason: null,
    recorded: false,
    watched: false,
    cpuRatio: 0,
    samples: 0,
    seriesNow: 0,
    drops: 0,
    restarts: 0,
    restIncluded: false,
    overBudget: false,
  };
}
