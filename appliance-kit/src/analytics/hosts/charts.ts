// The charts of a host: of what it sends those that are known, and when there are few of these the first metrics there are.
import { selectorsOf } from '../../base/hosts.ts';
import type { Storaged } from '../../peers/storaged.ts';
import type { Chart } from '../worksheets/index.ts';
import { CHARTS } from './known.ts';
import type { Host } from './schema.ts';

const MOST = 16;
/** With fewer known charts the rest is filled with whatever it sends. */
const ENOUGH = 4;
const FILLED = 8;
/** Of so many it is known which of them are histograms. */
const MOST_METRICS = 20_000;
const COUNTERS = /(_total|_count|_sum|_bucket)$/;

export async function chartsOf(storaged: Pick<Storaged, 'metricNames' | 'metrics'>, host: Host): Promise<Chart[]> {
  const selectors = selectorsOf([host]);
  if (selectors.length === 0) return [];
  const names = new Set(await storaged.metricNames(selectors));
  /** The query for each label that names the host. */
  const query = (make: (select: (metric: string) => string) => string) =>
    selectors.map((_, at) => make((metric) => selectorsOf([host], metric)[at] as string)).join(' or ');
  const charts: Omit<Chart, 'id'>[] = [];
  const drawn = new Set<string>();
  for (const { title, unit, metrics, query: make } of CHARTS) {
    if (!names.has(metrics[0] as string)) continue;
    for (const metric of metrics) drawn.add(metric);
    charts.push({ title, query: query(make), ...(unit !== '' && { unit }) });
  }
  if (charts.length < ENOUGH) {
    const kinds = new Map((await storaged.metrics(MOST_METRICS)).map(({ name, type }) => [name, type]));
    for (const name of names) {
      if (charts.length >= FILLED) break;
      if (drawn.has(name) || name.endsWith('_bucket')) continue;
      if (kinds.get(name)?.endsWith('histogram')) {
        charts.push({ title: name.slice(0, 200), query: selectorsOf([host], name)[0] as string, display: 'heatmap' });
        continue;
      }
      const make = (select: (metric: string) => string) =>
        COUNTERS.test(name) ? `rate(${select(name)}[1m])` : select(name);
      charts.push({ title: name.slice(0, 200), query: query(make) });
    }
  }
  return charts.slice(0, MOST).map((chart, at) => ({ id: `c${at + 1}`, ...chart }));
}
