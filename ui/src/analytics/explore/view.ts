// What the Analytics page shows is wholly in its address: metric, filters, breakdown, window, limit. Read and written here.
import { type Box, readBox, writeBox } from '../../charts/box.ts';

export interface View {
  readonly metric: string;
  readonly by: string;
  readonly filters: readonly (readonly [label: string, value: string])[];
  /** Seconds. */
  readonly range: number;
  /** Seconds since the epoch; null = live. */
  readonly end: number | null;
  readonly limit: number | undefined;
  readonly scale: 'log' | 'linear' | 'auto';
  readonly trim: number;
  /** The same time a day or a week before is drawn too. */
  readonly compare?: 'day' | 'week';
  /** Each series is drawn, however many there are. */
  readonly every?: boolean;
  /** What is marked of a heatmap. */
  readonly box?: Box | undefined;
}

const DEFAULT_RANGE = 300;
const SHORTEST = 10;
const LONGEST = 2 * 365 * 86_400;

function number(text: string | null): number | undefined {
  if (text === null || text === '') return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

export function readView(query: URLSearchParams): View {
  const scale = query.get('scale');
  const box = readBox(query.get('box'));
  const compare = query.get('compare');
  return {
    metric: query.get('metric') ?? '',
    by: query.get('by') ?? '',
    filters: [...query].filter(([key]) => key.startsWith('f.')).map(([key, value]) => [key.slice(2), value] as const),
    range: Math.min(Math.max(number(query.get('range')) ?? DEFAULT_RANGE, SHORTEST), LONGEST),
    end: number(query.get('end')) ?? null,
    limit: number(query.get('limit')),
    scale: scale === 'log' || scale === 'linear' ? scale : 'auto',
    ...(query.get('every') === '1' && { every: true }),
    ...(box !== undefined && { box }),
    ...((compare === 'day' || compare === 'week') && { compare }),
    trim: Math.min(Math.max(number(query.get('trim')) ?? 0, 0), 0.5),
  };
}

export function writeView(view: View): URLSearchParams {
  const query = new URLSearchParams();
  if (view.metric) query.set('metric', view.metric);
  if (view.by) query.set('by', view.by);
  for (const [label, value] of view.filters) query.append(`f.${label}`, value);
  if (view.range !== DEFAULT_RANGE) query.set('range', String(view.range));
  if (view.end !== null) query.set('end', String(view.end));
  if (view.limit !== undefined) query.set('limit', String(view.limit));
  if (view.scale !== 'auto') query.set('scale', view.scale);
  if (view.trim > 0) query.set('trim', String(view.trim));
  if (view.compare) query.set('compare', view.compare);
  if (view.every) query.set('every', '1');
  if (view.box !== undefined) query.set('box', writeBox(view.box));
  return query;
}
