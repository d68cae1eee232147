// How a failure that nobody waits for is logged.
import type { Fields, Log } from '../log.ts';
import { ProblemError } from './problem.ts';

/**
 * A problem – a peer that is not up, a pool that is not there – is a warning: its cause is logged, or alerted, where it is.
 * Anything else is an error of akd's own, and its stack says where.
 */
export function logFailure(log: Log, message: string, error: unknown, fields: Fields = {}): void {
  if (error instanceof ProblemError) log.warn(message, { ...fields, error: error.problem.detail });
  else
    log.error(message, { ...fields, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
}
