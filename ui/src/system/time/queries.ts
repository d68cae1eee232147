// How the clock is kept. What the servers answer changes by itself.
import { queryOptions } from '@tanstack/react-query';
import { answerOf, client } from '../../api/client.ts';

export const timeQuery = queryOptions({
  queryKey: ['time'],
  queryFn: ({ signal }) => answerOf(client.GET('/api/time', { signal })),
  refetchInterval: 5_000,
});
