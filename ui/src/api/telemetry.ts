// What the telemetry store answers: the Prometheus query API and the histogram routes beside it. Times are seconds since
// the epoch, as these routes have them.

import { reachingFetch } from './client.ts';
import { Failure, problemIn } from './problem.ts';

export interface Metric {
  name: string;
  type: 'gauge' | 'counter' | 'histogram';
  series: number;
  /** Where the oldest block that has it begins: it was not there before. */
  firstTime: number;
  lastTime: number;
  /** What its values are measured in; left out where nobody says it. */
  unit?: string;
  unitFrom?: 'person' | 'sender' | 'name';
  description?: string;
  /** Where a person wants a line, in the metric's unit. */
  limit?: number;
}
export interface MetricList {
  metrics: Metric[];
  /** Without the limit. */
  total: number;
  /** Where the oldest block of all begins. */
  oldest: number;
}
type Parameters = Record<string, string | number | undefined>;

async function get<T>(path: string, parameters: Parameters, signal?: AbortSignal): Promise<T> {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, String(value));
  const text = query.toString();
  const url = new URL(`/api/v1/${path}${text && `?${text}`}`, location.origin);
  const response = await reachingFetch(new Request(url, { signal: signal ?? null }));
  const body = await response.json().catch(() => null);
  if (!response.ok || body === null || body.status === 'error') throw new Failure(problemIn(response.status, body));
  return body as T;
}

export interface Window {
  start: number;
  end: number;
  step: number;
}

/** @param of `own`: the appliance's; `sent`: all others */
export async function listMetrics(
  asked: { match?: string; of?: 'own' | 'sent'; limit?: number },
  signal?: AbortSignal,
): Promise<MetricList> {
  const found = await get<MetricList>('metrics', { ...asked, match: asked.match || undefined }, signal);
  // A native histogram is drawn as the others are: the store converts it.
  const metrics = found.metrics.map((one) =>
    (one.type as string) === 'native_histogram' ? { ...one, type: 'histogram' as const } : one,
  );
  return { ...found, metrics };
}

/** The label names of the series a selector matches, and each one's values. */
export async function labelsOf(selector: string, signal?: AbortSignal): Promise<Map<string, string[]>> {
  const end = Math.floor(Date.now() / 1000);
  const found = await get<{ data: Record<string, string>[] | null }>(
    'series',
    { 'match[]': selector, start: end - 3600, end },
    signal,
  );
  const labels = new Map<string, Set<string>>();
  for (const series of found.data ?? []) {
    for (const [name, value] of Object.entries(series)) {
      if (name === '__name__') continue;
      const values = labels.get(name) ?? new Set();
      labels.set(name, values.add(value));
    }
  }
  return new Map([...labels].sort().map(([name, values]) => [name, [...values].sort()]));
}

/** The values that a label had within the last hour, of all series or of a metric's. */
export async function labelValues(label: string, metric?: string, signal?: AbortSignal): Promise<string[]> {
  const end = Math.floor(Date.now() / 1000);
  const match = metric === undefined ? undefined : `{__name__=${JSON.stringify(metric)}}`;
  const found = await get<{ data: string[] | null }>(
    `label/${encodeURIComponent(label)}/values`,
    { 'match[]': match, start: end - 3600, end },
    signal,
  );
  return found.data ?? [];
}

/** The names of the metrics with a series that a selector matches, of the last hour. */
export async function namesOf(selector: string, signal?: AbortSignal): Promise<ReadonlySet<string>> {
  const end = Math.floor(Date.now() / 1000);
  const { data } = await get<{ data: string[] | null }>(
    'label/__name__/values',
    { 'match[]': selector, start: end - 3600, end },
    signal,
  );
  return new Set(data ?? []);
}

export interface InstantSeries {
  metric: Record<string, string>;
  value?: [time: number, value: string];
  histogram?: [time: number, histogram: { count: string; sum: string }];
}
/** The expression's value at one moment; a scalar is a series without labels. */
export async function queryInstant(query: string, time: number, signal?: AbortSignal): Promise<InstantSeries[]> {
  const { data } = await get<{ data: { resultType: string; result: InstantSeries[] | [number, string] | null } }>(
    'query',
    { query, time },
    signal,
  );
  if (data.resultType === 'scalar' || data.resultType === 'string') {
    return [{ metric: {}, value: data.result as [number, string] }];
  }
  return (data.result as InstantSeries[] | null) ?? [];
}

export interface Measure {
  readonly unit: string;
  /** The values are what there is of it in each second. */
  readonly perSecond: boolean;
}
/** What the values of an expression are measured in; `count` where that is not certain. */
export async function measureOf(query: string, signal?: AbortSignal): Promise<Measure> {
  const { data } = await get<{ data: Measure }>('unit', { query }, signal);
  return { ...data, unit: data.unit || 'count' };
}

/** Throws what is wrong with it. */
export async function checkQuery(query: string, signal?: AbortSignal): Promise<string> {
  return (await get<{ data: string }>('format_query', { query }, signal)).data;
}

/** A value of a label, and how many measurements inside of a box and outside have it; "" is a series without the label. */
export interface WhyValue {
  value: string;
  inside: number;
  outside: number;
}
export interface WhyLabel {
  label: string;
  score: number;
  /** How many values there are; `values` has the first of them. */
  of: number;
  values: WhyValue[];
}
export interface Why {
  inside: number;
  outside: number;
  series: number;
  /** How many labels there are that differ; `labels` has the first of them. */
  of: number;
  labels: WhyLabel[];
  approximate?: true;
  warnings?: string[];
}

/** Which labels tell what lies in a box from what lies around it. */
export function why(
  asked: {
    query: string;
    start: number;
    end: number;
    above?: number;
    below?: number;
    from: number;
    until: number;
  },
  signal?: AbortSignal,
): Promise<Why> {
  return get<Why>('why', { ...asked }, signal);
}
