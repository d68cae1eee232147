// What the pages read, each under its topic: the first part of a key is the topic that the appliance's change events
// name, so one invalidation per event is enough. The intervals are only the safety net beneath the events.
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { answerOf, client } from './client.ts';
import { answerIfChanged, type KnownAnswer } from './unchanged.ts';

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
/** Worked out anew when it is five minutes old and somebody asks. */
export const worstMomentsQuery = queryOptions({
  queryKey: ['worst-moments'],
  queryFn: ({ signal }) =>
    answerIfChanged('worst-moments', (header) => client.GET('/api/worst-moments', { params: { header }, signal })),
  refetchInterval: (query) => (query.state.data?.computedAt ? 60_000 : 2_000),
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
export const newSendersQuery = queryOptions({
  queryKey: ['inputs', 'new'],
  queryFn: ({ signal }) => answerOf(client.GET('/api/new-senders', { signal })),
  refetchInterval: SAFETY_NET,
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
export const objectivesQuery = queryOptions({
  queryKey: ['objectives'],
  queryFn: async ({ signal }) => (await answerOf(client.GET('/api/objectives', { signal }))).items,
  refetchInterval: 60_000,
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
/** For the pages that compare each alert with something: of hardware, and of a silence that is being written. */
export const activeAlertsQuery = queryOptions({
  queryKey: ['alerts', 'active'],
  queryFn: async ({ signal }) => {
    const query = { state: 'active' as const, limit: 1000 };
    const ask = (header: KnownAnswer) => client.GET('/api/alerts', { params: { query, header }, signal });
    return (await answerIfChanged('alerts', ask)).items;
  },
  refetchInterval: SAFETY_NET,
});
/** The counts of the bell and of Status, and the worst groups. */
export const alertSummaryQuery = queryOptions({
  queryKey: ['alerts', 'summary'],
  queryFn: ({ signal }) =>
    answerIfChanged('alert-summary', (header) => client.GET('/api/alert-summary', { params: { header }, signal })),
  refetchInterval: SAFETY_NET,
});
export const alertGroupsQuery = (filter: AlertFilter, limit = 100) =>
  queryOptions({
    queryKey: ['alerts', 'groups', filter, limit],
    queryFn: async ({ signal }) => {
      const query = { ...filter, limit };
      const ask = (header: KnownAnswer) => client.GET('/api/alert-groups', { params: { query, header }, signal });
      return (await answerIfChanged(`alert-groups ${JSON.stringify(query)}`, ask)).items;
    },
    refetchInterval: SAFETY_NET,
    placeholderData: keepPreviousData,
  });
export const alertGroupQuery = (id: string) =>
  queryOptions({
    queryKey: ['alerts', 'group', id],
    queryFn: ({ signal }) =>
      answerIfChanged(`alert-group ${id}`, (header) =>
        client.GET('/api/alert-groups/{id}', { params: { path: { id }, header }, signal }),
      ),
    refetchInterval: SAFETY_NET,
  });
export interface MembersFilter {
  state: 'active' | 'all';
  search?: string;
  limit: number;
  offset: number;
}
export const groupMembersQuery = (id: string, query: MembersFilter) =>
  queryOptions({
    queryKey: ['alerts', 'members', id, query],
    queryFn: ({ signal }) =>
      answerIfChanged(`alert-group ${id} ${JSON.stringify(query)}`, (header) =>
        client.GET('/api/alert-groups/{id}/alerts', { params: { path: { id }, query, header }, signal }),
      ),
    refetchInterval: SAFETY_NET,
    placeholderData: keepPreviousData,
  });
export const alertQuery = (id: string) =>
  queryOptions({
    queryKey: ['alerts', 'one', id],
    queryFn: ({ signal }) => answerOf(client.GET('/api/alerts/{id}', { params: { path: { id } }, signal })),
    refetchInterval: SAFETY_NET,
  });
export const findingsQuery = (id: string) =>
  queryOptions({
    queryKey: ['alerts', 'findings', id],
    queryFn: ({ signal }) => answerOf(client.GET('/api/alerts/{id}/findings', { params: { path: { id } }, signal })),
    refetchInterval: (query) => (query.state.data?.state === 'waiting' ? 2_000 : SAFETY_NET),
  });
export const silencesQuery = queryOptions({
  queryKey: ['silences'],
  queryFn: async ({ signal }) => (await answerOf(client.GET('/api/silences', { signal }))).items,
  refetchInterval: SAFETY_NET,
});
export const alertTimesQuery = queryOptions({
  queryKey: ['alert-times'],
  queryFn: async ({ signal }) => (await answerOf(client.GET('/api/alert-times', { signal }))).items,
  // Worked out over 400 days of alerts; what is raised while it is looked at does not change it much.
  staleTime: 60_000,
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
