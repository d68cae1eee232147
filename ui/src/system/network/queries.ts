// What the pages read of the network.
import { queryOptions } from '@tanstack/react-query';
import { answerOf, client } from '../../api/client.ts';

export const networkQuery = queryOptions({
  queryKey: ['network'],
  queryFn: ({ signal }) => answerOf(client.GET('/api/network', { signal })),
  // What is tried is looked at while somebody waits for it; a plugged cable is seen soon.
  refetchInterval: (query) => (query.state.data?.trying ? 2_000 : 10_000),
});
