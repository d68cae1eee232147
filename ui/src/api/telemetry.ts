// What the telemetry store answers: the Prometheus query API and the histogram routes beside it. Times are seconds since
// the epoch, as these routes have them.
import { reachingFetch } from './client.ts';
import { Failure, problemIn } from './problem.ts';

export interface Metric {
  name: string;
  type: 'gauge' | 'counter' | 'histogram';
  series: number;
  lastTime: number;
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

export async function listMetrics(match: string, signal?: AbortSignal): Promise<Metric[]> {
  const found = await get<{ metrics: Metric[] | null }>('metrics', { match: match || undefined, limit: 500 }, signal);
  // A native histogram is drawn as the others are: the store converts it.
  return (found.metrics ?? []).map((one) =>
    (one.type as string) === 'native_histogram' ? { ...one, type: 'histogram' as const } : one,
  );
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

/** Throws what is wrong with it. */
export async function checkQuery(query: string, signal?: AbortSignal): Promise<string> {
  return (await get<{ data: string }>('format_query', { query }, signal)).data;
}
