// Follows a stream of server-sent events, each a line of a log: the newest first, never more than so many.
import { useEffect, useState } from 'react';

export type StreamState = 'opening' | 'open' | 'interrupted';

/** `path` null: nothing is followed. What came is dropped when the path changes. */
export function useStream<Line>(path: string | null, maxLines: number): { lines: readonly Line[]; state: StreamState } {
  const [lines, setLines] = useState<readonly Line[]>([]);
  const [state, setState] = useState<StreamState>('opening');
  useEffect(() => {
    setLines([]);
    setState('opening');
    if (path === null) return;
    let waiting: Line[] = [];
    let frame = 0;
    // Many lines at once are drawn once.
    const draw = () => {
      frame = 0;
      const arrived = waiting.reverse();
      waiting = [];
      setLines((before) => [...arrived, ...before].slice(0, maxLines));
    };
    const source = new EventSource(path);
    source.addEventListener('open', () => setState('open'));
    source.addEventListener('error', () => setState('interrupted'));
    source.addEventListener('message', (event) => {
      waiting.push(JSON.parse(event.data as string) as Line);
      if (waiting.length > maxLines) waiting.shift();
      frame ||= requestAnimationFrame(draw);
    });
    return () => {
      source.close();
      cancelAnimationFrame(frame);
    };
  }, [path, maxLines]);
  return { lines, state };
}

/** A query string of what is not empty. */
export function queryOf(values: Record<string, string | number | boolean | undefined>): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== '' && value !== false);
  return given.length === 0
    ? ''
    : `?${new URLSearchParams(Object.fromEntries(given.map(([name, value]) => [name, String(value)])))}`;
}
