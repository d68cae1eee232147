// The hosts as the page has them: all of them once, and after that only what has changed.
import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import type { Host, HostsView, Values } from './view.ts';

export interface KnownHosts {
  readonly version: string;
  readonly hosts: ReadonlyMap<string, Host>;
  readonly states: Schemas['HostList']['states'];
  readonly error: string | null;
}

/** Under the topic of the changes. */
const KEY = ['hosts'];
const SAFETY_NET = 15_000;
const VALUES_EVERY = 10_000;

/** What is known, with an answer of what has changed. */
export function merged(before: KnownHosts | undefined, answer: Schemas['HostList']): KnownHosts {
  const { version, full, items, gone, states, error } = answer;
  const hosts = new Map(full || before === undefined ? [] : before.hosts);
  for (const name of gone) hosts.delete(name);
  for (const host of items) hosts.set(host.name, host);
  return { version, hosts, states, error };
}

export function useHosts() {
  const queries = useQueryClient();
  return useQuery({
    queryKey: KEY,
    queryFn: async ({ signal }) => {
      const before = queries.getQueryData<KnownHosts>(KEY);
      const query = before === undefined ? {} : { since: before.version };
      return merged(before, await answerOf(client.GET('/api/hosts', { params: { query }, signal })));
    },
    refetchInterval: SAFETY_NET,
    // Comparing 5,000 hosts takes longer than drawing them.
    structuralSharing: false,
  });
}

export const hostQuery = (name: string) =>
  queryOptions({
    queryKey: ['hosts', 'one', name],
    queryFn: ({ signal }) => answerOf(client.GET('/api/hosts/{name}', { params: { path: { name } }, signal })),
    refetchInterval: SAFETY_NET,
  });

const NO_VALUES: Values = new Map();

export function useHostValues({ metric, as, of, group }: Pick<HostsView, 'metric' | 'as' | 'of' | 'group'>) {
  const query = { ...(metric !== '' && { metric, as, of }), ...(group.length > 0 && { group: [...group] }) };
  const { data = NO_VALUES, error } = useQuery({
    queryKey: ['host-values', query],
    queryFn: async ({ signal }): Promise<Values> => {
      const { items } = await answerOf(client.GET('/api/host-values', { params: { query }, signal }));
      return new Map(items.map((one) => [one.name, one]));
    },
    refetchInterval: VALUES_EVERY,
    placeholderData: (before) => before,
    structuralSharing: false,
  });
  return { values: data, error };
}

export const hostViewsQuery = queryOptions({
  queryKey: ['hosts', 'views'],
  queryFn: async ({ signal }) => (await answerOf(client.GET('/api/host-views', { signal }))).items,
});
