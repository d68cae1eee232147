import { queryOptions } from '@tanstack/react-query';
import { answerOf, client } from '../../api/client.ts';

export const accessQuery = queryOptions({
  queryKey: ['ssh', 'access'],
  queryFn: ({ signal }) => answerOf(client.GET('/api/ssh-access', { signal })),
});

export const keysQuery = (everyone: boolean) =>
  queryOptions({
    queryKey: ['ssh', 'keys', everyone],
    queryFn: async ({ signal }) =>
      (
        await answerOf(
          client.GET('/api/ssh-keys', { params: { query: { of: everyone ? 'everyone' : 'own' } }, signal }),
        )
      ).items,
  });
