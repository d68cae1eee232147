// Informs open pages of what changed, so that they read it again. It carries names, never values: what a client may see
// is decided where it reads.
import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { Caller } from '../gate/caller.ts';
import { Places } from '../gate/places.ts';
import type { Change } from './schema.ts';

/** Changes within this time are sent once: a busy job must not make every page read it a hundred times a second. */
const GATHER_MS = 150;
/** Shorter than any proxy's patience; also how soon a session that ended is noticed. */
const HEARTBEAT_MS = 15_000;
/** Pages, in all and of one caller. */
const [MOST, MOST_OF_ONE] = [200, 40];
/** More things of a topic than this that changed together are told as the topic alone. */
const NAMED = 20;
/** A client that does not read is dropped; it re-reads everything when it connects again. */
const MAX_BUFFERED = 64 * 1024;

interface Client {
  readonly response: ServerResponse;
  readonly stillAllowed: () => boolean;
}

export class Changes {
  readonly #clients = new Set<Client>();
  readonly #listeners = new Set<(change: Change) => void>();
  readonly #pending = new Map<string, Change>();
  #timer: NodeJS.Timeout | null = null;
  #heartbeat: NodeJS.Timeout | null = null;
  readonly #topics: ReadonlySet<string>;
  readonly #places = new Places(MOST, MOST_OF_ONE, 'pages are watching');

  /** @param topics those that the domains declare; another one is a mistake of the program, and throws */
  constructor(topics: readonly string[]) {
    this.#topics = new Set(topics);
  }

  publish(topic: string, id?: string): void {
    if (!this.#topics.has(topic)) throw new Error(`no domain declares the topic “${topic}”`);
    const change: Change = id === undefined ? { topic } : { topic, id };
    for (const listener of this.#listeners) listener(change);
    if (this.#clients.size === 0) return;
    this.#pending.set(`${topic}/${id ?? ''}`, change);
    this.#timer ??= setTimeout(() => this.#flush(), GATHER_MS);
  }

  /** Somebody has a page open. */
  get watched(): boolean {
    return this.#clients.size > 0;
  }

  /** For parts of akd itself. Returns how to stop. */
  listen(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #flush(): void {
    this.#timer = null;
    const of = Map.groupBy(this.#pending.values(), ({ topic }) => topic);
    const text = [...of]
      .flatMap(([topic, changes]): Change[] => (changes.length > NAMED ? [{ topic }] : changes))
      .map((change) => `event: change\ndata: ${JSON.stringify(change)}\n\n`)
      .join('');
    this.#pending.clear();
    this.#send(text);
  }

  #send(text: string): void {
    for (const client of this.#clients) {
      if (client.response.writableLength > MAX_BUFFERED || !client.stillAllowed()) client.response.end();
      else client.response.write(text);
    }
  }

  /** Takes over the reply. Throws `too_many` before it does. */
  serve(caller: Caller, reply: FastifyReply, stillAllowed: () => boolean): void {
    const leave = this.#places.take(caller);
    reply.hijack();
    const response = reply.raw;
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      // nginx would otherwise keep events back until its buffer is full.
      'x-accel-buffering': 'no',
    });
    response.write('retry: 2000\n\n');
    const client = { response, stillAllowed };
    this.#clients.add(client);
    this.#heartbeat ??= setInterval(() => this.#send(': still here\n\n'), HEARTBEAT_MS);
    response.on('close', () => {
      this.#clients.delete(client);
      leave();
      if (this.#clients.size === 0 && this.#heartbeat !== null) {
        clearInterval(this.#heartbeat);
        this.#heartbeat = null;
      }
    });
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#heartbeat !== null) clearInterval(this.#heartbeat);
    for (const { response } of this.#clients) response.end();
  }
}
