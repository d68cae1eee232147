// How old is what a page shows? Everything is read again and again, or when the appliance says that it has changed. What could
// not be read again for a while is older than it seems, and the page says so.
import type { QueryClient } from '@tanstack/react-query';
import { asProblem } from './problem.ts';

/** One thing that is shown. */
export interface Shown {
  readonly key: string;
  /** When it was read; milliseconds since the epoch. */
  readonly readAt: number;
  /** It is being read again, or that has failed. */
  readonly wanted: boolean;
}

const OLD_MS = 5_000;
/** So long nobody looks only when the page is hidden, or the machine slept: then nothing could have been read. */
const PAUSE_MS = 3_000;

export class Renewal {
  /** Of what is wanted: since when, and what it was read at. */
  #wanted = new Map<string, { readonly since: number; readonly readAt: number }>();
  #lookedAt = Number.NEGATIVE_INFINITY;

  /** When the oldest was read of what could not be renewed for five seconds; null: all is as new as it should be. */
  look(now: number, shown: Iterable<Shown>): number | null {
    const paused = now - this.#lookedAt > PAUSE_MS || now < this.#lookedAt;
    this.#lookedAt = now;
    const wanted = new Map<string, { readonly since: number; readonly readAt: number }>();
    let oldest: number | null = null;
    for (const one of shown) {
      if (!one.wanted) continue;
      const before = paused ? undefined : this.#wanted.get(one.key);
      const since = before?.readAt === one.readAt ? before.since : now;
      wanted.set(one.key, { since, readAt: one.readAt });
      if (now - since > OLD_MS && (oldest === null || one.readAt < oldest)) oldest = one.readAt;
    }
    this.#wanted = wanted;
    return oldest;
  }
}

/** An answer that refuses is an answer: only what did not answer leaves the page as it was. */
function failed(error: unknown): boolean {
  if (error === null) return false;
  const { code, status } = asProblem(error);
  return code === 'unreachable' || status >= 500;
}

/** Of all that is on the page now. */
export function* shownOf(queries: QueryClient): Generator<Shown> {
  for (const query of queries.getQueryCache().getAll()) {
    const { data, dataUpdatedAt, fetchStatus, error } = query.state;
    if (data === undefined || !query.isActive()) continue;
    yield { key: query.queryHash, readAt: dataUpdatedAt, wanted: fetchStatus !== 'idle' || failed(error) };
  }
}
