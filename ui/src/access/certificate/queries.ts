import { queryOptions } from '@tanstack/react-query';
import { answerOf, client } from '../../api/client.ts';

export const certificateQuery = queryOptions({
  queryKey: ['certificate'],
  queryFn: ({ signal }) => answerOf(client.GET('/api/certificate', { signal })),
});
