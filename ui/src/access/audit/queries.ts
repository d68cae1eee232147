// What the pages of the audit log read.
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import type { paths } from '../../api/schema.d.ts';

export type Entry = Schemas['AuditEntry'];
export type AuditFilter = Omit<NonNullable<paths['/api/audit-log']['get']['parameters']['query']>, 'limit' | 'before'>;

const PAGE = 100;

export const auditQuery = (filter: AuditFilter) =>
  infiniteQueryOptions({
    queryKey: ['audit', 'log', filter],
    queryFn: async ({ signal, pageParam }) => {
      const query = { ...filter, limit: PAGE, ...(pageParam !== null && { before: pageParam }) };
      return (await answerOf(client.GET('/api/audit-log', { params: { query }, signal }))).items;
    },
    initialPageParam: null as number | null,
    getNextPageParam: (last) => (last.length < PAGE ? undefined : last.at(-1)?.id),
  });

export const chainQuery = queryOptions({
  queryKey: ['audit', 'chain'],
  queryFn: ({ signal }) => answerOf(client.GET('/api/audit-chain', { signal })),
});
export const auditRetentionQuery = queryOptions({
  queryKey: ['audit', 'retention'],
  queryFn: ({ signal }) => answerOf(client.GET('/api/audit-retention', { signal })),
});
export const auditForwardingQuery = queryOptions({
  queryKey: ['audit', 'forwarding'],
  queryFn: ({ signal }) => answerOf(client.GET('/api/audit-forwarding', { signal })),
  refetchInterval: 5_000,
});
