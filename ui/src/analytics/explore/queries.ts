// Which labels the series of a selector have.
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { labelsOf } from '../../api/telemetry.ts';

export function useLabels(query: string) {
  return useQuery({
    queryKey: ['telemetry', 'labels', query],
    queryFn: ({ signal }) => labelsOf(query, signal),
    refetchInterval: 15_000,
    placeholderData: keepPreviousData,
  });
}
