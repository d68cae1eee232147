// Gets every message to every destination it is meant for: at least once, in order, however long a destination is
// down, and over restarts. One subscriber of the journal for each destination; each goes at its own pace.
//
// Order of events, and what a crash between two of them leads to:
//   alert + message + deliveries in SQLite → (appended again) → in the journal → row removed from `outbox`
//   read from the journal → sent → (sent again, with the same event id) → delivery noted → checkpoint
import type { Message } from '../alerts/alerts.ts';
import type { Clock } from '../clock.ts';
import type { Destinations, StoredDestination } from '../destinations/destinations.ts';
import type { Changes } from '../events/changes.ts';
import type { Log } from '../log.ts';
import { asProblem } from '../problems/problem.ts';
import type { Database } from '../state/database.ts';
import type { Journal } from './journal.ts';

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 5 * 60_000;
/** A message that could not be delivered for so long is given up, so that those behind it are not lost with it. */
const GIVE_UP_MS = 24 * 60 * 60 * 1000;
const READ_AT_ONCE = 50;

export type Send = (destination: StoredDestination, message: Message) => Promise<void>;

export function backOff(attempts: number): number {
  return Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.max(0, Math.min(attempts, 30) - 1));
}

export interface OutboxParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly journal: Journal;
  readonly destinations: Destinations;
  readonly changes: Changes;
  readonly send: Send;
  readonly log: Log;
  /** How long to wait before attempt n + 1; tests make it short. */
  readonly retryAfterMs?: (attempts: number) => number;
}

/** Something to wait for: woken by whoever has news, at the latest when the time is up. */
class Bell {
  #ring: (() => void) | null = null;
  #rung = false;

  ring(): void {
    this.#rung = true;
    this.#ring?.();
  }

  async wait(milliseconds: number): Promise<void> {
    if (!this.#rung) {
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        this.#ring = resolve;
        timer = setTimeout(resolve, milliseconds);
      });
      clearTimeout(timer);
      this.#ring = null;
    }
    this.#rung = false;
  }
}

interface Worker {
  readonly bell: Bell;
  stopped: boolean;
  readonly done: Promise<void>;
}

export class Outbox {
  readonly #parts: OutboxParts;
  readonly #retryAfterMs: (attempts: number) => number;
  readonly #workers = new Map<string, Worker>();
  readonly #flushBell = new Bell();
  #flusher: Promise<void> | null = null;
  #stopped = false;

  constructor(parts: OutboxParts) {
    this.#parts = parts;
    this.#retryAfterMs = parts.retryAfterMs ?? backOff;
  }

  start(): void {
    this.#flusher = this.#keepFlushing();
    for (const { id } of this.#parts.destinations.enabled()) this.attend(id);
  }

  /** There are new messages in the outbox table. */
  written(): void {
    this.#flushBell.ring();
  }

  /** Subscribes a new destination: it gets what is raised from now on. */
  async join(id: string): Promise<void> {
    await this.#parts.journal.subscribe(id, 'end');
  }

  /** Begins to deliver to a destination that has joined. Its settings may have changed: what waits is tried at once. */
  attend(id: string): void {
    const known = this.#workers.get(id);
    if (known !== undefined) {
      known.bell.ring();
      return;
    }
    const bell = new Bell();
    const worker: Worker = { bell, stopped: false, done: Promise.resolve().then(() => this.#work(id, worker)) };
    this.#workers.set(id, worker);
  }

  /** Stops delivering to a destination and gives up its place in the journal. */
  async leave(id: string): Promise<void> {
    const worker = this.#workers.get(id);
    this.#workers.delete(id);
    if (worker !== undefined) {
      worker.stopped = true;
      worker.bell.ring();
      // Not waited for: it may be in the middle of a delivery, and looks before it does anything after that.
    }
    await this.#parts.journal.unsubscribe(id).catch((error: unknown) => {
      this.#parts.log.warn('a destination could not be unsubscribed', {
        destination: id,
        error: asProblem(error).detail,
      });
    });
  }

  async #keepFlushing(): Promise<void> {
    for (let failures = 0; !this.#stopped; ) {
      try {
        if (await this.#flush()) for (const { bell } of this.#workers.values()) bell.ring();
        failures = 0;
        await this.#flushBell.wait(60_000);
      } catch (error) {
        failures++;
        this.#parts.log.error('alerts cannot be written to the journal', { error: asProblem(error).detail });
        await this.#flushBell.wait(Math.max(this.#retryAfterMs(failures), 100));
      }
    }
  }

  async #flush(): Promise<boolean> {
    const { db, journal } = this.#parts;
    let any = false;
    for (;;) {
      const row = db.get('SELECT event_id, message_json FROM outbox ORDER BY rowid LIMIT 1');
      if (row === undefined || this.#stopped) return any;
      await journal.append(Buffer.from(row.message_json as string));
      db.run('DELETE FROM outbox WHERE event_id = ?', row.event_id as string);
      any = true;
    }
  }

  async #work(id: string, worker: Worker): Promise<void> {
    const { journal, log } = this.#parts;
    // From the beginning, should the journal have lost it: what was delivered is skipped by its event id.
    let subscribed = false;
    for (let failures = 0; !worker.stopped; ) {
      try {
        if (!subscribed) await journal.subscribe(id, 'begin');
        subscribed = true;
        const entries = await journal.read(id, READ_AT_ONCE);
        for (const { position, data } of entries) {
          await this.#deliver(id, worker, data);
          if (worker.stopped) return;
          await journal.checkpoint(id, position);
        }
        failures = 0;
        if (entries.length === 0) await worker.bell.wait(60_000);
      } catch (error) {
        failures++;
        log.error('the outbox of a destination is held up', { destination: id, error: asProblem(error).detail });
        await worker.bell.wait(Math.max(this.#retryAfterMs(failures), 100));
      }
    }
  }

  /** Returns when the message needs no more: delivered, given up, or not for this destination. */
  async #deliver(id: string, worker: Worker, data: Buffer): Promise<void> {
    const { db, clock, destinations, changes, send, log } = this.#parts;
    let message: Message;
    try {
      message = JSON.parse(data.toString('utf8')) as Message;
    } catch {
      log.error('an unreadable message in the alert journal was skipped', { destination: id });
      return;
    }
    const { eventId } = message;
    for (;;) {
      // A message of many alerts has a delivery for each of them, and all share one fate.
      const sql =
        'SELECT state, attempts FROM deliveries WHERE message_id = ? AND destination_id = ? ORDER BY rowid LIMIT 1';
      const delivery = db.get(sql, eventId, id);
      if (delivery?.state !== 'waiting') return;
      const destination = destinations.stored(id);
      if (destination === undefined || worker.stopped) return;
      const attempts = (delivery.attempts as number) + 1;
      const note = (state: 'waiting' | 'delivered' | 'failed', error: string | null) => {
        db.transaction(() => {
          db.run(
            'UPDATE deliveries SET state = ?, attempts = ?, last_error = ?, at = ? WHERE message_id = ? AND destination_id = ?',
            state,
            attempts,
            error,
            clock.now(),
            eventId,
            id,
          );
          destinations.noteDelivery(id, error);
        });
        changes.publish('alerts', message.alert.id);
        changes.publish('destinations', id);
      };
      try {
        await send(destination, message);
        note('delivered', null);
        log.info('an alert was delivered', { destination: destination.name, event: eventId, attempts });
        return;
      } catch (error) {
        const words = asProblem(error).code === 'internal' ? String((error as Error).message) : asProblem(error).detail;
        const givenUp = clock.now() - Date.parse(message.at) > GIVE_UP_MS;
        note(givenUp ? 'failed' : 'waiting', words.slice(0, 1000));
        log.warn('an alert was not delivered', {
          destination: destination.name,
          event: eventId,
          attempts,
          error: words,
        });
        if (givenUp) return;
      }
      await worker.bell.wait(this.#retryAfterMs(attempts));
      if (worker.stopped) return;
    }
  }

  /** Lets a delivery that is under way finish; whatever is not done goes on at the next start. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#flushBell.ring();
    for (const worker of this.#workers.values()) {
      worker.stopped = true;
      worker.bell.ring();
    }
    await Promise.all([this.#flusher, ...[...this.#workers.values()].map(({ done }) => done)]);
  }
}
