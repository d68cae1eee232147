// What is slower than at the same time a week ago, or yesterday: of each histogram of durations, the share of the last hour that
// took longer than all but a hundredth did then.
import type { Log } from '../../base/log.ts';
import type { Metric, Storaged } from '../../peers/storaged.ts';

export type Store = Pick<Storaged, 'query' | 'queryRange' | 'metrics'>;

export interface Slower {
  readonly metric: string;
  /** 0 to 1: of what was measured within the last hour. */
  readonly share: number;
  /** The same of the hour that it is compared with: about a hundredth. */
  readonly shareBefore: number;
  readonly count: number;
  /** What all but a hundredth did not exceed then, in the metric's own unit. */
  readonly limit: number;
  readonly against: 'week' | 'day';
}

export interface Compared {
  readonly slower: Slower[];
  /** How many metrics there was enough of, then and now. */
  readonly compared: number;
  readonly against: 'week' | 'day' | null;
}

const MOST_NAMES = 5_000;
/** Of as many a round asks; those with most series come first. */
const MOST_METRICS = 20;
/** Fewer durations than this in an hour say nothing of a hundredth. */
const ENOUGH = 1_000;
/** As many more than usual must be slow, and their share so much greater. */
const EXCESS = 20;
const TWICE = 2;
const POINTS = 0.01;
/** How far beyond chance, in standard deviations of the share. */
const SURE = 4;

const DURATION = /(?:^|[._:])(?:seconds|duration|latency|time|elapsed|ms|millis|milliseconds|micros|us|ns)$/i;

/** Whether a histogram is of durations, by its name. */
export const isDuration = ({ name, type }: Pick<Metric, 'name' | 'type'>) =>
  (type === 'histogram' || type === 'native_histogram') && DURATION.test(name.replace(/_(?:bucket|sum|count)$/, ''));

/** The histograms of durations that are sent here. */
export async function durationsOf(store: Store): Promise<string[]> {
  const all = await store.metrics(MOST_NAMES);
  return all
    .filter((one) => !one.name.startsWith('cistern_') && isDuration(one))
    .sort((a, b) => b.series - a.series || (a.name < b.name ? -1 : 1))
    .slice(0, MOST_METRICS)
    .map(({ name }) => name);
}

/** A metric of any name, as PromQL has it. */
export const selectorOf = (name: string) => `{__name__=${JSON.stringify(name)}}`;

/** All of an hour, merged. */
const hour = (name: string, offset: string) => `sum(increase(${selectorOf(name)}[1h]${offset}))`;

async function numberOf(store: Store, expression: string): Promise<number | null> {
  const [first] = await store.query(expression);
  return first === undefined || Number.isNaN(first.value) ? null : first.value;
}

/** Whether a share is beyond what it was before, by more than chance. */
export function isSlower(share: number, before: number, count: number): boolean {
  if (share < TWICE * before || share - before < POINTS || (share - before) * count < EXCESS) return false;
  // A share that was nothing is taken as that of one.
  const usual = Math.max(before, 1 / count);
  return (share - before) / Math.sqrt((usual * (1 - usual)) / count) > SURE;
}

async function compare(store: Store, metric: string): Promise<{ found: Slower; slow: boolean } | null> {
  const now = hour(metric, '');
  const count = await numberOf(store, `histogram_count(${now})`);
  if (count === null || count < ENOUGH) return null;
  for (const [against, offset] of [
    ['week', ' offset 1w'],
    ['day', ' offset 1d'],
  ] as const) {
    const then = hour(metric, offset);
    if (((await numberOf(store, `histogram_count(${then})`)) ?? 0) < ENOUGH) continue;
    const limit = await numberOf(store, `histogram_quantile(0.99, ${then})`);
    if (limit === null) continue;
    const within = (of: string) => numberOf(store, `histogram_fraction(-Inf, ${limit}, ${of})`);
    const [before, after] = [await within(then), await within(now)];
    if (before === null || after === null) continue;
    const found = { metric, share: 1 - after, shareBefore: 1 - before, count, limit, against };
    return { found, slow: isSlower(found.share, found.shareBefore, count) };
  }
  return null;
}

/** One metric after the other: what one of them costs too much says nothing about the others. */
export async function comparedWithBefore(store: Store, log: Log): Promise<Compared> {
  const slower: Slower[] = [];
  let compared = 0;
  let against: Compared['against'] = null;
  for (const name of await durationsOf(store)) {
    try {
      const one = await compare(store, name);
      if (one === null) continue;
      compared++;
      against = one.found.against === 'week' ? 'week' : (against ?? 'day');
      if (one.slow) slower.push(one.found);
    } catch (error) {
      log.debug('a metric could not be compared with how it was', { kind: name, error: String(error) });
    }
  }
  slower.sort((a, b) => b.share - a.share);
  return { slower, compared, against };
}
