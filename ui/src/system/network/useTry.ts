// Having the appliance try other settings of its network.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { answerOf, client } from '../../api/client.ts';
import type { NetworkSettings } from './interfaces.ts';
import { networkQuery } from './queries.ts';

export function useTry(done: () => void) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (wanted: { settings: NetworkSettings; isolated?: boolean }) =>
      answerOf(client.POST('/api/network/try', { body: { ...wanted.settings, isolated: wanted.isolated ?? false } })),
    onSuccess: (now) => {
      queries.setQueryData(networkQuery.queryKey, now);
      done();
    },
  });
}
