// What changed, as the store works it out: what is known so far, then the answer.
import { useEffect, useState } from 'react';
import { reachingFetch } from '../../api/client.ts';
import { Failure, problemIn } from '../../api/problem.ts';
import { selector } from '../explore/expression.ts';

export type Labels = Readonly<Record<string, string>>;

export interface SeriesChange {
  readonly metric: Labels;
  readonly measure: 'value' | 'rate' | 'median';
  readonly before: number;
  readonly after: number;
  readonly score: number;
}
export interface Changes {
  readonly compared: number;
  readonly of: number;
  readonly changed: number;
  readonly series: readonly SeriesChange[];
  /** Not before all are compared. */
  readonly began?: { readonly count: number; readonly series: readonly Labels[] };
  readonly ended?: { readonly count: number; readonly series: readonly Labels[] };
  readonly warnings?: readonly string[];
}

export interface Asked {
  readonly query: string;
  readonly start: number;
  readonly end: number;
  readonly against: 'before' | 'week';
}

/** So many are read, to be put into groups. */
const READ = 200;

/** The events of a stream that has them one after the other. */
export async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<{ event: string; data: string }> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      text += decoder.decode(value, { stream: !done });
      const events = text.split('\n\n');
      text = events.pop() ?? '';
      for (const one of events) {
        const field = (name: string) =>
          one
            .split('\n')
            .filter((line) => line.startsWith(`${name}: `))
            .map((line) => line.slice(name.length + 2))
            .join('\n');
        yield { event: field('event'), data: field('data') };
      }
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

async function follow(asked: Asked, signal: AbortSignal, take: (changes: Changes) => void): Promise<void> {
  const form = new URLSearchParams({
    query: asked.query,
    start: String(asked.start),
    end: String(asked.end),
    against: asked.against,
    limit: String(READ),
  });
  const url = new URL(`/api/v1/changed?${form}`, location.origin);
  const headers = { accept: 'text/event-stream, application/json' };
  const response = await reachingFetch(new Request(url, { signal, headers }));
  if (!response.ok || response.body === null) {
    throw new Failure(problemIn(response.status, await response.json().catch(() => null)));
  }
  for await (const { event, data } of eventsOf(response.body)) {
    if (event === 'problem') throw new Failure(problemIn(503, { ...JSON.parse(data), title: 'It cannot be compared' }));
    take(JSON.parse(data) as Changes);
    if (event === 'done') return;
  }
  throw new Failure(problemIn(503, null));
}

export interface Comparison {
  readonly changes: Changes | null;
  readonly state: 'comparing' | 'done' | 'cancelled' | 'failed';
  readonly error: unknown;
  readonly cancel: () => void;
  readonly again: () => void;
}

const NOTHING = { changes: null, state: 'comparing', error: null } as const;

export function useChanges({ query, start, end, against }: Asked): Comparison {
  const [turn, setTurn] = useState(0);
  const [stop, setStop] = useState<AbortController | null>(null);
  const [found, setFound] = useState<Omit<Comparison, 'cancel' | 'again'>>(NOTHING);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another turn asks the same again
  useEffect(() => {
    const controller = new AbortController();
    setStop(controller);
    setFound(NOTHING);
    follow({ query, start, end, against }, controller.signal, (changes) =>
      setFound((before) => ({ ...before, changes })),
    ).then(
      () => setFound((before) => ({ ...before, state: 'done' })),
      (error: unknown) =>
        setFound((before) =>
          controller.signal.aborted ? { ...before, state: 'cancelled' } : { ...before, state: 'failed', error },
        ),
    );
    return () => controller.abort();
  }, [query, start, end, against, turn]);
  return { ...found, cancel: () => stop?.abort(), again: () => setTurn(turn + 1) };
}

/** What a series is drawn by. */
export function queryOf({ metric, measure }: Pick<SeriesChange, 'metric' | 'measure'>): string {
  const { __name__: name = '', ...labels } = metric;
  const text = selector({ metric: name, filters: Object.entries(labels) });
  return measure === 'rate' ? `rate(${text}[1m])` : text;
}

export interface Group {
  readonly first: SeriesChange;
  /** How many more of the same metric have changed. */
  readonly more: number;
}

/** One of each metric, the one that changed most, with how many more have. */
export function groupsOf(series: readonly SeriesChange[]): Group[] {
  const byName = new Map<string, SeriesChange[]>();
  for (const one of series) {
    const name = one.metric.__name__ ?? '';
    byName.set(name, [...(byName.get(name) ?? []), one]);
  }
  return [...byName.values()].map((all) => ({ first: all[0] as SeriesChange, more: all.length - 1 }));
}

/** Values of labels that at least half of the series have, and three; those that most have first. */
export function sharedBy(series: readonly SeriesChange[]): { label: string; value: string; count: number }[] {
  const counts = new Map<string, { label: string; value: string; count: number }>();
  for (const { metric } of series) {
    for (const [label, value] of Object.entries(metric)) {
      if (label === '__name__') continue;
      const key = JSON.stringify([label, value]);
      const one = counts.get(key) ?? { label, value, count: 0 };
      one.count += 1;
      counts.set(key, one);
    }
  }
  return [...counts.values()]
    .filter(({ count }) => count >= 3 && count * 2 >= series.length)
    .sort((a, b) => b.count - a.count || (a.label < b.label ? -1 : 1));
}
