// What is asked about identity providers.
import { queryOptions } from '@tanstack/react-query';
import { answerOf, client } from '../../api/client.ts';

export const providersQuery = queryOptions({
  queryKey: ['users', 'providers'],
  queryFn: async ({ signal }) => (await answerOf(client.GET('/api/providers', { signal }))).items,
});

/** For the page of sign-in: what anybody may know. */
export const offeredProvidersQuery = queryOptions({
  queryKey: ['offered-providers'],
  queryFn: async ({ signal }) => (await answerOf(client.GET('/api/offered-providers', { signal }))).items,
});
