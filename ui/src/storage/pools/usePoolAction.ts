// Something short that is done to a pool; whatever is shown of pools and disks is read again afterwards, also when it
// is not known whether it was done.
import { useMutation, useQueryClient } from '@tanstack/react-query';

export function useStorageRead(): () => Promise<void> {
  const queries = useQueryClient();
  return async () => {
    await Promise.all([
      queries.invalidateQueries({ queryKey: ['pools'] }),
      queries.invalidateQueries({ queryKey: ['disks'] }),
      queries.invalidateQueries({ queryKey: ['jobs'] }),
    ]);
  };
}

export function usePoolAction() {
  const read = useStorageRead();
  return useMutation({ mutationFn: (work: () => Promise<unknown>) => work(), onSettled: read });
}
