// What can be measured, and one dataset while a page shows it.
import { useQuery } from '@tanstack/react-query';
import { answerOf, client } from '../../api/client.ts';
import { Failure } from '../../api/problem.ts';
import type { Dataset } from './statistic.ts';

/** Has it measured while a page shows it: tracerd goes on for 30 s after the last request. */
export function useDataset(name: string | undefined) {
  return useQuery({
    queryKey: ['analytics', 'watch', name],
    queryFn: async ({ signal }): Promise<Dataset> => {
      const wanted = { params: { path: { name: name as string } }, signal };
      try {
        return await answerOf(client.POST('/api/statistic-datasets/{name}/watch', wanted));
      } catch (error) {
        if (!(error instanceof Failure) || error.problem.code !== 'forbidden') throw error;
        // Who may not have it measured may still see what others have measured.
        return await answerOf(client.GET('/api/statistic-datasets/{name}', wanted)).catch(() => {
          throw error;
        });
      }
    },
    enabled: name !== undefined,
    refetchInterval: (query) => (query.state.data?.state === 'starting' || query.state.error ? 2_000 : 10_000),
    refetchIntervalInBackground: false,
    retry: false,
  });
}

export const statisticsQuery = {
  queryKey: ['analytics', 'statistics'],
  queryFn: async ({ signal }: { signal: AbortSignal }) =>
    (await answerOf(client.GET('/api/statistics', { signal }))).items,
  staleTime: 30_000,
  retry: false,
  refetchInterval: (query: { state: { error: unknown } }) => (query.state.error ? 3_000 : 30_000),
} as const;
