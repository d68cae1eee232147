// What the appliance has just answered to a change is what is known from now on.
import type { QueryClient, QueryKey } from '@tanstack/react-query';

/** An answer that is still on its way was asked for before, and would undo it on the page: nothing waits for that any more. */
export async function nowKnown(queries: QueryClient, queryKey: QueryKey, data: unknown): Promise<void> {
  await queries.cancelQueries({ queryKey });
  queries.setQueryData(queryKey, data);
}
