// Listens to what happens to pools, so that a change is seen at once and not at the next look, and so that looking may rest
// while nothing happens. It never says what a pool is like: events get lost when the kernel has too many, and may be out of
// date.
import type { Readable } from 'node:stream';
import type { PoolChanges } from './poolChanges.ts';

export interface PoolEventParts {
  /** JSON lines, `{class?, text}` or `{}` as a heartbeat: execd's verb pool.events. */
  open(): Promise<Readable>;
  changed(): void;
  /** What is known of what happens, without any delay. */
  readonly changes?: PoolChanges;
  /** For tests. */
  readonly leastMs?: number;
  readonly silentMs?: number;
  readonly retryMs?: number;
}

/** Between two calls of `changed`; twice as long after each one while there is no calm: a dying disk has a lot to say. */
const LEAST_MS = 200;
const MAX_MS = 2_000;
/** Heartbeats come every 15 s. */
const SILENT_MS = 40_000;
const RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;
const MAX_LINE = 256 * 1024;

const CONCERNS =
  /^(ereport\.fs\.zfs\.|resource\.fs\.zfs\.(statechange|removed|autoreplace)$|sysevent\.fs\.zfs\.(scrub|resilver|trim|vdev|pool|bootfs_vdev)_)/;

/** Whether an event may have changed what is shown of a pool. History, which every command writes, has not. */
export const concernsState = (line: string): boolean => {
  try {
    const { class: name } = JSON.parse(line) as { class?: unknown };
    return typeof name === 'string' && CONCERNS.test(name);
  } catch {
    return false;
  }
};

/** Calls at once, then at intervals as long as it is asked to. */
function calmly(call: () => void, leastMs: number): { ask(): void; stop(): void } {
  let timer: NodeJS.Timeout | null = null;
  let asked = false;
  let wait = leastMs;
  const rest = () => {
    timer = setTimeout(() => {
      timer = null;
      if (!asked) {
        wait = leastMs;
        return;
      }
      asked = false;
      wait = Math.min(wait * 2, Math.max(leastMs, MAX_MS));
      call();
      rest();
    }, wait);
  };
  return {
    ask() {
      if (timer !== null) {
        asked = true;
        return;
      }
      call();
      rest();
    },
    stop() {
      if (timer !== null) clearTimeout(timer);
    },
  };
}

/** Listens until the function it returns is called. */
export function followPoolEvents({ open, changed, changes, ...options }: PoolEventParts): () => void {
  const silentMs = options.silentMs ?? SILENT_MS;
  const firstRetry = options.retryMs ?? RETRY_MS;
  const calm = calmly(changed, options.leastMs ?? LEAST_MS);
  let stopped = false;
  let content: Readable | null = null;
  let again: NodeJS.Timeout | undefined;

  const listen = async (): Promise<void> => {
    content = await open();
    if (stopped) {
      content.destroy();
      return;
    }
    const silence = setTimeout(() => content?.destroy(new Error('nothing was heard for too long')), silentMs);
    let rest = '';
    try {
      content.setEncoding('utf8');
      for await (const chunk of content as AsyncIterable<string>) {
        silence.refresh();
        changes?.heard(true);
        const lines = (rest + chunk).split('\n');
        rest = lines.pop() as string;
        if (rest.length > MAX_LINE) rest = '';
        const states = lines.some(concernsState);
        if (states) changes?.happened();
        else if (lines.some((line) => line.includes('"class"'))) changes?.happened('datasets');
        if (states) calm.ask();
      }
    } finally {
      clearTimeout(silence);
      changes?.heard(false);
    }
  };

  let retry = firstRetry;
  const go = async (): Promise<void> => {
    const began = performance.now();
    // That it does not work needs no log line: execd's own state is watched, and looking at intervals goes on.
    await listen().catch(() => {});
    content = null;
    if (stopped) return;
    if (performance.now() - began > MAX_RETRY_MS) retry = firstRetry;
    again = setTimeout(() => void go(), retry);
    retry = Math.min(retry * 2, MAX_RETRY_MS);
  };
  void go();

  return () => {
    stopped = true;
    clearTimeout(again);
    calm.stop();
    content?.destroy();
  };
}
