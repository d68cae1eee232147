// The day's worst moments: when something that is sent here waited longest by its own measure, for whom, and what the
// appliance's log said then.
import type { Log } from '../../base/log.ts';
import { oneLine } from '../../base/words.ts';
import type { RangeSeries } from '../../peers/storaged.ts';
import type { LogReader } from '../../system/logs/index.ts';
import { durationsOf, type Store, selectorOf } from './slower.ts';

export interface Moment {
  readonly metric: string;
  /** Seconds since the epoch: the five minutes up to then. */
  readonly time: number;
  /** What all but a hundredth did not exceed: then, and in the middle of the day. In the metric's own unit. */
  readonly value: number;
  readonly usual: number;
  readonly count: number;
  /** Labels of the series that was slowest; null: they are not told apart. */
  readonly whom: Readonly<Record<string, string>> | null;
  readonly log: readonly { readonly time: string; readonly service: string; readonly text: string }[];
  /** Why there is nothing of the log, or null. */
  readonly note: string | null;
}

const DAY_S = 86_400;
const STEP_S = 300;
const SHOWN = 5;
/** Closer ones are the same moment. */
const APART_S = 3 * STEP_S;
/** Fewer durations than this in five minutes say nothing of a hundredth. */
const ENOUGH = 100;
/** So many times the usual is worth a word. */
const TIMES = 2;
/** As many metrics are looked at; each is a day of its histograms. */
const METRICS = 10;
const BEFORE_MS = 15 * 60_000;
const AFTER_MS = 60_000;
const LINES = 3;
const LINE = 300;

type Candidate = Pick<Moment, 'metric' | 'time' | 'value' | 'usual' | 'count'>;

const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >> 1] as number;

/** Where a metric's values were greatest beside its usual one. */
export function candidatesOf(
  metric: string,
  values: RangeSeries['values'],
  counts: RangeSeries['values'],
): Candidate[] {
  const counted = new Map(counts);
  const enough = values.filter(([time, value]) => (counted.get(time) ?? 0) >= ENOUGH && Number.isFinite(value));
  if (enough.length === 0) return [];
  const usual = median(enough.map(([, value]) => value));
  return enough
    .filter(([, value]) => usual > 0 && value >= TIMES * usual)
    .map(([time, value]) => ({ metric, time, value, usual, count: counted.get(time) ?? 0 }));
}

/** The worst of all, no two of a metric close to each other. */
export function worstOf(all: readonly Candidate[]): Candidate[] {
  const found: Candidate[] = [];
  for (const one of [...all].sort((a, b) => b.value / b.usual - a.value / a.usual || b.time - a.time)) {
    if (found.some(({ metric, time }) => metric === one.metric && Math.abs(time - one.time) < APART_S)) continue;
    found.push(one);
    if (found.length === SHOWN) break;
  }
  return found;
}

const at = async (store: Store, expression: string, time: number) =>
  (await store.queryRange(expression, time, time, STEP_S)).flatMap(({ labels, values: [first] }) =>
    first === undefined ? [] : [{ labels, value: first[1] }],
  );

/** Of the series that had enough, the one whose hundredth waited longest. */
async function whomOf(store: Store, { metric, time }: Candidate): Promise<Moment['whom']> {
  const each = `increase(${selectorOf(metric)}[${STEP_S}s])`;
  const found = await at(
    store,
    `topk(1, histogram_quantile(0.99, ${each}) and (histogram_count(${each}) >= 10))`,
    time,
  );
  const { __name__: _, ...labels } = found[0]?.labels ?? {};
  return Object.keys(labels).length === 0 ? null : labels;
}

async function logOf(logs: Pick<LogReader, 'between'>, time: number): Promise<Pick<Moment, 'log' | 'note'>> {
  try {
    const { lines, all } = await logs.between(time * 1000 - BEFORE_MS, time * 1000 + AFTER_MS, 'warning');
    const log = lines
      .slice(-LINES)
      .map((one) => ({ time: one.time, service: one.service, text: oneLine(one.text, LINE) }));
    return { log, note: all || log.length > 0 ? null : 'The log does not reach back so far at once.' };
  } catch {
    return { log: [], note: 'The log could not be read.' };
  }
}

/** @param now seconds since the epoch */
export async function worstMoments(
  store: Store,
  logs: Pick<LogReader, 'between'>,
  log: Log,
  now: number,
): Promise<Moment[]> {
  const end = now - (now % STEP_S);
  const all: Candidate[] = [];
  for (const metric of (await durationsOf(store)).slice(0, METRICS)) {
    const merged = `sum(increase(${selectorOf(metric)}[${STEP_S}s]))`;
    try {
      const over = (expression: string) => store.queryRange(expression, end - DAY_S, end, STEP_S);
      const [quantiles] = await over(`histogram_quantile(0.99, ${merged})`);
      const [counts] = await over(`histogram_count(${merged})`);
      if (quantiles !== undefined && counts !== undefined)
        all.push(...candidatesOf(metric, quantiles.values, counts.values));
    } catch (error) {
      log.debug('a day of a metric could not be read', { kind: metric, error: String(error) });
    }
  }
  const moments: Moment[] = [];
  for (const one of worstOf(all)) {
    const whom = await whomOf(store, one).catch(() => null);
    moments.push({ ...one, whom, ...(await logOf(logs, one.time)) });
  }
  return moments;
}
