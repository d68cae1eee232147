// Who asked for what is being done now, for those who have to write it down.
import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * On whose behalf something is being done, also long after the request was answered: a job runs on behalf of who started
 * it. execd writes it into its own record.
 */
export const onBehalfOf = new AsyncLocalStorage<string>();
