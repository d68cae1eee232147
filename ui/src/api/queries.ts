// What the pages read, each under its topic: the first part of a key is the topic that the appliance's change events
// name, so one invalidation per event is enough. The intervals are only the safety net beneath the events.
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { answerOf, client } from './client.ts';

const SAFETY_NET = 15_000;

export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: ({ signal }) => answerOf(client.GET('/api/session', { signal })),
});
export const usersQuery = queryOptions({
  queryKey: ['users'],
  queryFn: async ({ signal }) => (await answerOf(client.GET('/api/users', { signal }))).items,
});
export const sessionsQuery = (everyone: boolean) =>
  queryOptions({
    queryKey: ['users', 'sessions', everyone],
    queryFn: async ({ signal }) =>
      (
        await answerOf(
          client.GET('/api/sessions', { params: { query: { of: everyone ? 'everyone' : 'own' } }, signal }),
        )
      ).items,
    refetchInterval: SAFETY_NET,
  });
export const setupQuery = queryOptions({
  queryKey: ['setup'],
  queryFn: ({ signal }) => answerOf(client.GET('/api/setup', { signal })),
});
/** Every five seconds at most: the ingest rate in it moves without any event. */
export const statusQuery = queryOptions({
  queryKey: ['status'],
  queryFn: ({ signal }) => answerOf(client.GET('/api/status', { signal })),
  refetchInterval: 5_000,
});
export const servicesQuery = queryOptions({
  queryKey: ['services'],
  queryFn: async ({ signal }) => (await answerOf(client.GET('/api/services', { signal }))).items,
  refetchInterval: SAFETY_NET,
});
export const poolsQuery = queryOptions({
  queryKey: ['pools'],
  queryFn: ({ signal }) => answerOf(client.GET('/api/pools', { signal })),
  refetchInterval: SAFETY_NET,
});
export const disksQuery = queryOptions({
  queryKey: ['disks'],
  queryFn: ({ signal }) => answerOf(client.GET('/api/disks', { signal })),
  refetchInterval: SAFETY_NET,
});
export const adviceQuery = (disks: string[]) =>
  queryOptions({
    queryKey: ['disks', 'advice', ...[...disks].sort()],
    queryFn: ({ signal }) => answerOf(client.GET('/api/layout-advice', { params: { query: { disk: disks } }, signal })),
    enabled: disks.length > 0,
    // The layouts stay where they are while others are worked out.
    placeholderData: keepPreviousData,
  });
export const jobsQuery = queryOptions({
  queryKey: ['jobs'],
  queryFn: async ({ signal }) => (await answerOf(client.GET('/api/jobs', { signal }))).items,
  refetchInterval: (query) => (query.state.data?.some((job) => job.state === 'running') ? 1_000 : SAFETY_NET),
});
export const destinationsQuery = queryOptions({
  queryKey: ['destinations'],
  queryFn: async ({ signal }) => (await answerOf(client.GET('/api/destinations', { signal }))).items,
});
export const inputsQuery = queryOptions({
  queryKey: ['inputs'],
  queryFn: async ({ signal }) => (await answerOf(client.GET('/api/inputs', { signal }))).items,
  refetchInterval: 5_000,
});
export const inputCertificateQuery = queryOptions({
  queryKey: ['inputs', 'certificate'],
  queryFn: ({ signal }) => answerOf(client.GET('/api/input-certificate', { signal })),
  refetchInterval: 30_000,
});
export const outputsQuery = queryOptions({
  queryKey: ['outputs'],
  queryFn: async ({ signal }) => (await answerOf(client.GET('/api/outputs', { signal }))).items,
  refetchInterval: 5_000,
});
export const thresholdsQuery = queryOptions({
  queryKey: ['thresholds'],
  queryFn: async ({ signal }) => (await answerOf(client.GET('/api/thresholds', { signal }))).items,
  refetchInterval: 5_000,
});
export const recordingRulesQuery = queryOptions({
  queryKey: ['recording-rules'],
  queryFn: async ({ signal }) => (await answerOf(client.GET('/api/recording-rules', { signal }))).items,
  refetchInterval: (query) =>
    query.state.data?.some(({ fill }) => fill?.state === 'running' || fill?.state === 'waiting') ? 1_000 : 5_000,
});
export interface AlertFilter {
  state: 'active' | 'all';
  severity?: ('critical' | 'warning' | 'info')[];
  class?: string;
  search?: string;
  from?: number;
  to?: number;
}
export const alertsQuery = (filter: AlertFilter, limit = 100) =>
  queryOptions({
    queryKey: ['alerts', 'list', filter, limit],
    queryFn: async ({ signal }) =>
      (await answerOf(client.GET('/api/alerts', { params: { query: { ...filter, limit } }, signal }))).items,
    refetchInterval: SAFETY_NET,
    placeholderData: keepPreviousData,
  });
export const activeAlertsQuery = alertsQuery({ state: 'active' }, 1000);
export const alertQuery = (id: string) =>
  queryOptions({
    queryKey: ['alerts', 'one', id],
    queryFn: ({ signal }) => answerOf(client.GET('/api/alerts/{id}', { params: { path: { id } }, signal })),
    refetchInterval: SAFETY_NET,
  });
export const silencesQuery = queryOptions({
  queryKey: ['silences'],
  queryFn: async ({ signal }) => (await answerOf(client.GET('/api/silences', { signal }))).items,
  refetchInterval: SAFETY_NET,
});
export const alertClassesQuery = queryOptions({
  queryKey: ['alert-classes'],
  queryFn: async ({ signal }) => (await answerOf(client.GET('/api/alert-classes', { signal }))).items,
});
export const digestQuery = queryOptions({
  queryKey: ['destinations', 'digest'],
  queryFn: ({ signal }) => answerOf(client.GET('/api/alert-digest', { signal })),
});
export const bundlesQuery = queryOptions({
  queryKey: ['bundles'],
  queryFn: async ({ signal }) => (await answerOf(client.GET('/api/bundles', { signal }))).items,
  refetchInterval: (query) => (query.state.data?.some((bundle) => bundle.state === 'building') ? 500 : SAFETY_NET),
});
/** Read again each time it is opened: disks come and go. */
export const bundleOptionsQuery = queryOptions({
  queryKey: ['bundle-options'],
  queryFn: ({ signal }) => answerOf(client.GET('/api/bundle-options', { signal })),
  staleTime: 0,
});
export const crashesQuery = queryOptions({
  queryKey: ['crashes'],
  queryFn: async ({ signal }) => (await answerOf(client.GET('/api/crashes', { signal }))).items,
  refetchInterval: SAFETY_NET,
});
export const timeZonesQuery = queryOptions({
  queryKey: ['timezones'],
  queryFn: async ({ signal }) => (await answerOf(client.GET('/api/time-zones', { signal }))).items,
  staleTime: Number.POSITIVE_INFINITY,
});
