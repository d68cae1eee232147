// What the pages read of the firewall.
import { queryOptions } from '@tanstack/react-query';
import { answerOf, client } from '../../api/client.ts';

export const firewallQuery = queryOptions({
  queryKey: ['firewall'],
  queryFn: ({ signal }) => answerOf(client.GET('/api/firewall', { signal })),
  // It starts a program on the appliance.
  refetchInterval: 10_000,
});
