// What the process is doing, on a Unix socket of its own beside the one that it is asked on, as the Go daemons have it
// (services/daemon/diagnostics): metrics, figures of its memory, Node's report with the stack, and a profile. Only root and
// the process' own user may connect. There is no snapshot of the heap: it would have every secret in it.
import { chmodSync, rmSync } from 'node:fs';
import http from 'node:http';
import { Session } from 'node:inspector/promises';
import { constants, PerformanceObserver } from 'node:perf_hooks';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import v8 from 'node:v8';

/** The name of the socket in a service's folder below --run. */
export const DIAGNOSTICS = 'debug.sock';

const MAX_PROFILE_SECONDS = 60;
/** Node's own monitor (monitorEventLoopDelay) wakes the process a hundred times a second for it. */
const DELAY_EVERY_MS = 1_000;

/** How late a timer is: what whoever asks waits until he is heard. */
class LoopDelay {
  readonly #timer: NodeJS.Timeout;
  #due = performance.now() + DELAY_EVERY_MS;
  #count = 0;
  #sum = 0;
  #max = 0;

  constructor() {
    this.#timer = setInterval(() => {
      const late = Math.max(0, performance.now() - this.#due);
      this.#due = performance.now() + DELAY_EVERY_MS;
      this.#count++;
      this.#sum += late;
      this.#max = Math.max(this.#max, late);
    }, DELAY_EVERY_MS).unref();
  }

  /** Since the last call, in ms. */
  take(): { mean: number; max: number } {
    const taken = { mean: this.#count === 0 ? 0 : this.#sum / this.#count, max: this.#max };
    this.#count = this.#sum = this.#max = 0;
    return taken;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

interface Counted {
  collections: number;
  pauseMs: number;
}

function metrics(name: string, counted: Counted, delay: { readonly mean: number; readonly max: number }): string {
  const heap = v8.getHeapStatistics();
  const all: readonly (readonly [name: string, kind: 'gauge' | 'counter', help: string, value: number])[] = [
    ['heap_bytes', 'gauge', 'Memory of objects.', heap.used_heap_size],
    ['memory_bytes', 'gauge', 'Memory that the process has of the system.', process.memoryUsage.rss()],
    ['collections_total', 'counter', 'Garbage collections.', counted.collections],
    [
      'event_loop_delay_seconds',
      'gauge',
      'Mean delay of the event loop since the last request, looked at once a second.',
      delay.mean / 1e3,
    ],
    ['event_loop_delay_max_seconds', 'gauge', 'Longest delay of the event loop since then.', delay.max / 1e3],
  ];
  return all
    .map(([metric, kind, help, value]) => {
      const full = `cistern_process_${metric}`;
      return `# HELP ${full} ${help}\n# TYPE ${full} ${kind}\n${full}{service="${name}"} ${value}\n`;
    })
    .join('');
}

async function profile(seconds: number): Promise<unknown> {
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.start');
    await sleep(seconds * 1000);
    return (await session.post('Profiler.stop')).profile;
  } finally {
    session.disconnect();
  }
}

function report(): unknown {
  if (process.report === undefined) return {};
  process.report.excludeEnv = true;
  return process.report.getReport();
}

/** Answers until `close`. `name` is the service's. */
export async function serveDiagnostics(path: string, name: string): Promise<{ close(): void }> {
  const counted: Counted = { collections: 0, pauseMs: 0 };
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { kind } = entry as unknown as { detail?: { kind?: number }; kind?: number };
      if ((kind ?? constants.NODE_PERFORMANCE_GC_MAJOR) !== constants.NODE_PERFORMANCE_GC_WEAKCB) counted.collections++;
      counted.pauseMs += entry.duration;
    }
  });
  observer.observe({ entryTypes: ['gc'] });
  const delay = new LoopDelay();

  async function answer(url: URL): Promise<{ type: string; body: string } | undefined> {
    const json = (value: unknown) => ({ type: 'application/json', body: JSON.stringify(value) });
    switch (url.pathname) {
      case '/metrics': {
        const body = metrics(name, counted, delay.take());
        return { type: 'text/plain; version=0.0.4', body };
      }
      case '/memory': {
        const heap = v8.getHeapStatistics();
        return json({
          heapBytes: heap.used_heap_size,
          systemBytes: process.memoryUsage.rss(),
          collections: counted.collections,
          pauseNanoseconds: Math.round(counted.pauseMs * 1e6),
          limitBytes: heap.heap_size_limit,
        });
      }
      case '/report':
        return json(report());
      case '/profile': {
        const seconds = Number(url.searchParams.get('seconds') ?? 5);
        return json(await profile(Math.min(seconds > 0 ? seconds : 5, MAX_PROFILE_SECONDS)));
      }
    }
    return undefined;
  }

  const server = http.createServer((request, response) => {
    answer(new URL(request.url ?? '/', 'http://unix')).then(
      (found) => {
        response.writeHead(found === undefined ? 404 : 200, { 'content-type': found?.type ?? 'text/plain' });
        response.end(found?.body ?? 'There is /metrics, /memory, /report and /profile?seconds=N.\n');
      },
      (error: unknown) => {
        response.writeHead(500, { 'content-type': 'text/plain' });
        response.end(`${String(error)}\n`);
      },
    );
  });
  rmSync(path, { force: true });
  // Nobody else may connect before the mode is right: the socket is made with it.
  const before = process.umask(0o177);
  try {
    await new Promise<void>((done, failed) => {
      server.once('error', failed);
      server.listen(path, done);
    });
  } finally {
    process.umask(before);
  }
  chmodSync(path, 0o600);
  server.unref();
  return {
    close() {
      server.close();
      server.closeAllConnections();
      observer.disconnect();
      delay.stop();
    },
  };
}
