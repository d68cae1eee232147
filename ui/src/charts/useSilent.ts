// Since when a live chart has no data. What it draws shows that for the appliance's own series; of others the store draws the
// last value for minutes more, so that it is asked when that was: only while nothing moves, and not each second.
import { hashKey, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { SeriesFrame } from '../api/columns.ts';
import { queryInstant } from '../api/telemetry.ts';
import { selectorsIn } from './selectors.ts';
import { isFlat, silentSince, stoppedAt } from './silent.ts';

const ASK_MS = 5_000;

const numberOf = async (query: string, time: number, signal: AbortSignal): Promise<number | null> => {
  const [first] = await queryInstant(query, time, signal);
  return first?.value === undefined ? null : Number(first.value[1]);
};

/** Seconds; null: it goes on, is not live, or nobody knows. `query`: what the chart is drawn of. */
export function useSilent(query: string, frame: SeriesFrame | undefined, live: boolean): number | null {
  const ended = useMemo(() => (live && frame !== undefined ? silentSince(frame) : null), [live, frame]);
  const flat = useMemo(() => live && frame !== undefined && ended === null && isFlat(frame), [live, frame, ended]);
  const selectors = useMemo(() => (/\bcistern_/.test(query) ? [] : selectorsIn(query)), [query]);
  const end = frame === undefined ? 0 : frame.start + (frame.count - 1) * frame.step;
  const key = hashKey(['frame', 'last sample', selectors]);
  const asked = useQuery({
    queryKey: ['frame', 'last sample', selectors, ended],
    queryFn: async ({ signal }) => {
      const at = ended ?? end;
      const times = `max(${selectors.map((one) => `timestamp(${one})`).join(' or ')})`;
      const counts = `max(${selectors.map((one) => `count_over_time(${one}[5m])`).join(' or ')})`;
      const [last, samples] = await Promise.all([numberOf(times, at, signal), numberOf(counts, at, signal)]);
      return { at, last, samples };
    },
    enabled: selectors.length > 0 && (flat || ended !== null),
    refetchInterval: ended === null ? ASK_MS : false,
    staleTime: ended === null ? 0 : Number.POSITIVE_INFINITY,
    retry: false,
    // Behind the time that the store looks back the same is asked of an earlier moment.
    placeholderData: (before, query) => (hashKey(query?.queryKey.slice(0, 3) ?? []) === key ? before : undefined),
  });
  const { at = 0, last = null, samples = null } = asked.data ?? {};
  if (frame === undefined || (ended === null && !flat)) return null;
  if (asked.isLoading) return null;
  // An expression whose series cannot be named: what is drawn has to do.
  if (last === null || samples === null) return ended;
  return ended === null ? stoppedAt(frame, at, last, samples) : last;
}
