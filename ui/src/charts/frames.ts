// What a chart draws, as it is asked for: whole windows when they stand still, only the last seconds when they are live.
import { keepPreviousData, type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { type BinsFrame, fetchBins, fetchSeries, joinBins, joinSeries, type SeriesFrame } from '../api/columns.ts';
import type { Window } from '../api/telemetry.ts';
import { fetchSpan, type Settled, stepFor } from './axis.ts';

/** Samples may be a few seconds late; these are asked for again. */
const OVERLAP = 5;
/** What came later than that is found by reading all of it again, now and then. */
const WHOLE_EVERY_MS = 60_000;
/** What has just been switched on may still be arriving. */
const WHOLE_AGAIN_MS = 5_000;
/** Older than this, seconds may be gone and rollups left. */
const MAY_BE_ROLLED_UP = 86_400;
const MAX_POINTS = 1_800;
const MAX_COLUMNS = 900;

const seconds = () => Date.now() / 1000;

// A page is drawn once for each beat, not once for each of its charts: all ask at the same moment, and what they are
// answered within a tenth of a second is shown in one go. (Ten charts that each kept their own time cost half as much
// again.)
const TOGETHER_MS = 100;
const together = () => new Promise((resolve) => setTimeout(resolve, TOGETHER_MS - (Date.now() % TOGETHER_MS)));

/** Milliseconds to the next whole `period`; what is almost there is left out. */
function untilBeat(period: number): number {
  const left = period - (Date.now() % period);
  return left < 0.2 * period ? left + period : left;
}

interface Source<F> {
  readonly kind: string;
  readonly maxSteps: number;
  query(step: number): string;
  fetch(query: string, window: Window, signal: AbortSignal): Promise<F>;
  join(known: F, tail: F, from: number): F;
  /** When what it holds ends; undefined: it holds nothing. */
  endOf(frame: F): number | undefined;
  isEmpty(frame: F): boolean;
}

/** When a live window is read whole again, by its key. */
const wholeAt = new Map<string, number>();

function useFrame<F>(source: Source<F>, settled: Settled, shift: number, enabled: boolean) {
  const queries: QueryClient = useQueryClient();
  const { range, end } = settled;
  const live = end === null && shift === 0;
  const step = stepFor(range, source.maxSteps);
  // A comparison with yesterday follows the clock; all of its time is past, so it is read ahead of it.
  const until = end ?? Math.floor(seconds() / step) * step;
  const span = fetchSpan({ range, end: until - shift }, step, seconds());
  const query = source.query(step);
  const key = ['frame', source.kind, query, step, live ? `live ${range}` : `${span.start}-${span.end}`];
  return useQuery({
    queryKey: key,
    queryFn: async ({ signal }): Promise<F> => {
      if (!live) {
        let found = await source.fetch(query, { ...span, step }, signal);
        for (const coarse of [60, 3600]) {
          const old = seconds() - span.end > MAY_BE_ROLLED_UP;
          if (!old || coarse <= step || !source.isEmpty(found)) break;
          const window = {
            start: Math.floor(span.start / coarse) * coarse,
            end: Math.ceil(span.end / coarse) * coarse,
            step: coarse,
          };
          found = await source.fetch(source.query(coarse), window, signal);
        }
        return found;
      }
      const last = Math.floor((seconds() - 1) / step) * step;
      const from = last - Math.ceil(range / step) * step;
      const known = queries.getQueryData<F>(key);
      const knownEnd = known === undefined ? undefined : source.endOf(known);
      const hash = key.join(' ');
      const whole = Date.now() > (wholeAt.get(hash) ?? 0) || (known !== undefined && source.isEmpty(known));
      if (known !== undefined && knownEnd !== undefined && knownEnd > from && !whole) {
        const begin = Math.max(from, knownEnd - Math.ceil(OVERLAP / step) * step);
        const tail = await source.fetch(query, { start: begin, end: last, step }, signal);
        await together();
        return source.join(known, tail, from);
      }
      const found = await source.fetch(query, { start: from, end: last, step }, signal);
      if (wholeAt.size > 200) wholeAt.clear();
      wholeAt.set(hash, Date.now() + (known === undefined || source.isEmpty(known) ? WHOLE_AGAIN_MS : WHOLE_EVERY_MS));
      return found;
    },
    refetchInterval: live ? () => untilBeat(Math.min(Math.max(step, range / 600, 1), 60) * 1000) : false,
    placeholderData: keepPreviousData,
    // Frames are large, are made anew each second, and nothing else holds them.
    structuralSharing: false,
    gcTime: 30_000,
    enabled,
    retry: 1,
  });
}

/** `shift`: seconds into the past, for a comparison. `points`: no more than these, for a small chart. */
export function useSeriesFrame(
  query: (step: number) => string,
  settled: Settled,
  { enabled = true, shift = 0, points = MAX_POINTS }: { enabled?: boolean; shift?: number; points?: number } = {},
) {
  const source: Source<SeriesFrame> = {
    kind: 'series',
    maxSteps: points,
    query,
    fetch: (text, window, signal) => {
      // The appliance's own series come each second: a look-back of minutes would draw over a gap. Others may be rarer.
      const lookback = /\bcistern_/.test(text) ? Math.max(3, window.step) : undefined;
      return fetchSeries(text, window, lookback, signal);
    },
    join: joinSeries,
    endOf: (frame) => (frame.count === 0 ? undefined : frame.start + (frame.count - 1) * frame.step),
    isEmpty: (frame) => frame.lines.length === 0,
  };
  return useFrame(source, settled, shift, enabled);
}

export function useBinsFrame(
  selector: string,
  settled: Settled,
  { enabled = true, shift = 0 }: { enabled?: boolean; shift?: number } = {},
) {
  const source: Source<BinsFrame> = {
    kind: 'bins',
    maxSteps: MAX_COLUMNS,
    query: () => selector,
    fetch: fetchBins,
    join: joinBins,
    endOf: (frame) => (frame.columns.length === 0 ? undefined : frame.start + frame.columns.length * frame.step),
    isEmpty: (frame) => frame.columns.every((column) => column === null),
  };
  return useFrame(source, settled, shift, enabled);
}
