// What the pages of replication read.
import { queryOptions } from '@tanstack/react-query';
import { answerOf, client, type Schemas } from '../../api/client.ts';

export type Replication = Schemas['Replication'];
export type ReplicationInput = Schemas['ReplicationInput'];
export type Target = ReplicationInput['target'];

const SAFETY_NET = 15_000;

// Under the topic `datasets`: live updates name changes of replications so.
export const replicationsQuery = queryOptions({
  queryKey: ['datasets', 'replications'],
  queryFn: async ({ signal }) => (await answerOf(client.GET('/api/replications', { signal }))).items,
  refetchInterval: SAFETY_NET,
});
export const sendersQuery = queryOptions({
  queryKey: ['datasets', 'replication-senders'],
  queryFn: ({ signal }) => answerOf(client.GET('/api/replication-senders', { signal })),
  refetchInterval: SAFETY_NET,
});

export const targetWords = (target: Target): string =>
  target.kind === 'here' ? target.dataset : `${target.dataset} on ${target.host}`;
