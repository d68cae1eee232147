// What is read of worksheets in more than one place.
import { answerOf, client } from '../../api/client.ts';

export const worksheetsQuery = {
  queryKey: ['worksheets'],
  queryFn: async ({ signal }: { signal: AbortSignal }) =>
    (await answerOf(client.GET('/api/worksheets', { signal }))).items,
} as const;
