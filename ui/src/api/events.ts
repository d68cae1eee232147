// The appliance says what changed; whatever is shown of it is read again.
import type { QueryClient } from '@tanstack/react-query';

/** How long to wait before a stream that was refused (not merely interrupted) is tried again. */
const AGAIN_MS = 3_000;

/** What changes within this time is read once: a burst of alerts names the same topic again and again. */
const GATHER_MS = 100;

/** Topics whose change also changes the answer to "how is it?". */
const IN_STATUS = new Set(['pools', 'disks', 'services', 'alerts']);

/** Listens until the returned function is called. */
export function listen(queries: QueryClient): () => void {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let interrupted = false;
  const changed = new Set<string>();
  let reading: ReturnType<typeof setTimeout> | undefined;

  const readAgain = () => {
    reading = undefined;
    const topics = new Set(changed);
    changed.clear();
    if ([...topics].some((topic) => IN_STATUS.has(topic))) topics.add('status');
    if (topics.has('alerts')) topics.add('silences');
    if (topics.has('pools')) topics.add('disks');
    for (const topic of topics) void queries.invalidateQueries({ queryKey: [topic] });
  };

  const open = () => {
    source = new EventSource('/api/events');
    source.addEventListener('open', () => {
      // What changed while the stream was interrupted is not known: everything may have.
      if (interrupted) void queries.invalidateQueries();
      interrupted = false;
    });
    source.addEventListener('change', (event) => {
      const { topic } = JSON.parse((event as MessageEvent<string>).data) as { topic: string };
      changed.add(topic);
      reading ??= setTimeout(readAgain, GATHER_MS);
    });
    source.addEventListener('error', () => {
      interrupted = true;
      if (source?.readyState !== EventSource.CLOSED) return;
      // Refused: signed out, or the management plane is down. Reading the session finds out which.
      void queries.invalidateQueries({ queryKey: ['session'] });
      timer = setTimeout(open, AGAIN_MS);
    });
  };
  open();
  return () => {
    clearTimeout(timer);
    clearTimeout(reading);
    source?.close();
  };
}
