// What the pages of the settings document read.
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { answerOf, client, type Schemas } from '../../api/client.ts';

export type Entry = Schemas['SettingsHistoryEntry'];
export type Change = Schemas['SettingsChange'];
export type Plan = Schemas['SettingsPlan'];

const PAGE = 50;

export const historyQuery = (part: string) =>
  infiniteQueryOptions({
    queryKey: ['settings', 'history', part],
    queryFn: async ({ signal, pageParam }) => {
      const query = { limit: PAGE, ...(part !== '' && { part }), ...(pageParam !== null && { before: pageParam }) };
      return (await answerOf(client.GET('/api/settings-changes', { params: { query }, signal }))).items;
    },
    initialPageParam: null as string | null,
    getNextPageParam: (last) => (last.length < PAGE ? undefined : last.at(-1)?.id),
  });

export const partsQuery = queryOptions({
  queryKey: ['settings', 'parts'],
  queryFn: async ({ signal }) => (await answerOf(client.GET('/api/settings-parts', { signal }))).items,
  staleTime: Number.POSITIVE_INFINITY,
});

/** `other`: `now`, or nothing for what the change made of it. */
export const comparisonQuery = (id: string, other: string) =>
  queryOptions({
    queryKey: ['settings', 'comparison', id, other],
    queryFn: ({ signal }) =>
      answerOf(
        client.GET('/api/settings-changes/{id}', {
          params: { path: { id }, query: other === '' ? {} : { with: other } },
          signal,
        }),
      ),
  });

export const restorePlanQuery = (id: string) =>
  queryOptions({
    queryKey: ['settings', 'restore', id],
    queryFn: ({ signal }) =>
      answerOf(client.GET('/api/settings-changes/{id}/restore-preview', { params: { path: { id } }, signal })),
    // What is applied is what was just looked at.
    staleTime: 0,
    gcTime: 0,
  });
