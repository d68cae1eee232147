// A page of charts, as its address has it: the time, and, when they are not simply those of the saved worksheet, the
// charts. A drill-down is therefore a link, and "back" undoes it.
import type { Schemas } from '../../api/client.ts';
import type { Settled } from '../../charts/axis.ts';
import { validBox } from '../../charts/box.ts';
import { type Chosen, readChosen, writeChosen } from './variables.ts';

export type Chart = Schemas['Chart'];
export type Worksheet = Schemas['Worksheet'];
export type WorksheetInput = Schemas['WorksheetInput'];

export interface Sheet {
  readonly time: Settled | null;
  /** null: as they are saved. */
  readonly charts: readonly Chart[] | null;
  /** Of the variables, those whose values are others than the saved ones. */
  readonly chosen?: Chosen;
}

const DISPLAYS = ['auto', 'stacked', 'lines', 'heatmap'];
const MAX_CHARTS = 40;

/** A link may hold anything: only what is a valid chart is taken from it. */
function readChart(value: unknown): Chart | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const one = value as Record<string, unknown>;
  const text = (key: string, maxLength: number) => {
    const found = one[key];
    return typeof found === 'string' && found !== '' && found.length <= maxLength ? found : undefined;
  };
  const id = text('id', 64);
  const [statistic, query] = [text('statistic', 4096), text('query', 8192)];
  if (id === undefined || (statistic === undefined) === (query === undefined)) return undefined;
  const number = (key: string) => (Number.isFinite(one[key]) ? (one[key] as number) : undefined);
  const oneOf = <T>(key: string, known: readonly T[]) => (known.includes(one[key] as T) ? (one[key] as T) : undefined);
  const listed = <T>(key: string, fits: (item: unknown) => boolean) =>
    Array.isArray(one[key]) && (one[key] as unknown[]).every(fits) ? (one[key] as T[]).slice(0, 20) : undefined;
  const trim = number('trim');
  const chart: Record<string, unknown> = {
    id,
    statistic,
    query,
    title: text('title', 200),
    unit: text('unit', 32),
    display: oneOf('display', DISPLAYS),
    scale: oneOf('scale', ['auto', 'log', 'linear']),
    trim: trim !== undefined && trim >= 0 && trim <= 0.5 ? trim : undefined,
    limit: number('limit'),
    quantiles: listed<number>('quantiles', (q) => typeof q === 'number' && q >= 0 && q <= 1)?.slice(0, 10),
    compare: oneOf('compare', ['day', 'week']),
    box: validBox(one.box),
    highlight: listed<string>('highlight', (key) => typeof key === 'string'),
  };
  return Object.fromEntries(Object.entries(chart).filter(([, found]) => found !== undefined)) as Chart;
}

export function readSheet(query: URLSearchParams): Sheet {
  const range = Number(query.get('range') || Number.NaN);
  const end = Number(query.get('end') || Number.NaN);
  const chosen = readChosen(query);
  let charts: Chart[] | null = null;
  try {
    const found: unknown = JSON.parse(query.get('charts') ?? 'null');
    if (Array.isArray(found)) charts = found.flatMap((one) => readChart(one) ?? []).slice(0, MAX_CHARTS);
  } catch {
    // A link that was cut off shows what is saved.
  }
  return {
    time: Number.isFinite(range) && range > 0 ? { range, end: Number.isFinite(end) ? end : null } : null,
    charts,
    ...(Object.keys(chosen).length > 0 && { chosen }),
  };
}

export function writeSheet({ time, charts, chosen = {} }: Sheet): URLSearchParams {
  const query = new URLSearchParams();
  if (time !== null) {
    query.set('range', String(Math.round(time.range)));
    if (time.end !== null) query.set('end', String(Math.round(time.end)));
  }
  if (charts !== null) query.set('charts', JSON.stringify(charts));
  writeChosen(query, chosen);
  return query;
}

export function newChartId(charts: readonly Chart[]): string {
  for (let number = charts.length + 1; ; number += 1) {
    const id = `c${number}`;
    if (!charts.some((chart) => chart.id === id)) return id;
  }
}

/** The page that shows one statistic. */
export function statisticLink(statistic: string): string {
  return `/analytics/charts?${writeSheet({ time: null, charts: [{ id: 'c1', statistic }] })}`;
}

/** The page that shows one expression. */
export function queryLink(chart: Chart): string {
  return `/analytics/query?${writeSheet({ time: null, charts: [chart] })}`;
}

/** A chart without what is not set. */
export function changed(chart: Chart, change: { [K in keyof Chart]?: Chart[K] | undefined }): Chart {
  return Object.fromEntries(
    Object.entries({ ...chart, ...change }).filter(([, value]) => value !== undefined),
  ) as Chart;
}
