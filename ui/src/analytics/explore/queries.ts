// Which labels the series of a selector have, how many there are, and what an expression gives at one moment.
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { labelsOf, queryInstant } from '../../api/telemetry.ts';

export function useLabels(query: string) {
  return useQuery({
    queryKey: ['telemetry', 'labels', query],
    queryFn: ({ signal }) => labelsOf(query, signal),
    refetchInterval: 15_000,
    placeholderData: keepPreviousData,
  });
}

/** @param end null: live; @param query empty: nothing is asked */
export function useInstant(query: string, end: number | null) {
  return useQuery({
    queryKey: ['telemetry', 'instant', query, end ?? 'live'],
    queryFn: ({ signal }) => queryInstant(query, end ?? Math.floor(Date.now() / 1000) - 1, signal),
    refetchInterval: end === null ? 5_000 : false,
    enabled: query !== '',
  });
}

/** As the store counts them; undefined: not known, or not asked. */
export function useSeriesCount(selector: string | null, end: number | null): number | undefined {
  const { data } = useInstant(selector === null ? '' : `count(${selector})`, end);
  return data === undefined ? undefined : Number(data[0]?.value?.[1] ?? 0);
}
