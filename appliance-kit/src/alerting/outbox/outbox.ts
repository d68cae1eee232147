// Gets every message to every destination it is meant for: at least once, in order, however long a destination is
// down, and over restarts. One subscriber of the journal for each destination; each goes at its own pace.
//
// Order of events, and what a crash between two of them leads to:
//   alert + message + deliveries in SQLite → (merged with others of its class, in one transaction)
//   → (appended again) → in the journal → row removed from `outbox`
//   read from the journal → sent → (sent again, with the same event id) → delivery noted → checkpoint
//
// A destination that is away takes nothing: all waits, in order. One that is there and refuses a message, again and again,
// is tried with those behind it: when it takes one of them and refuses the first again, that one is dropped, with
// the receiver's words in the log. When it takes none, it is the receiver, and all waits as before.

import type { Clock } from '../../base/clock.ts';
import type { Fields, Log } from '../../base/log.ts';
import { logFailure } from '../../base/problems/log-failure.ts';
import { asProblem } from '../../base/problems/problem.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Database } from '../../state/database.ts';
import { newId } from '../../state/id.ts';
import type { Message, MessageGroup } from '../alerts/index.ts';
import type { Severity } from '../catalogue/severity.ts';
import { type Destinations, Refused, type StoredDestination } from '../destinations/index.ts';
import type { Digest } from './digest.ts';
import { type About, BURSTS, type BurstOptions, Bursts, merged, ORDER } from './grouping.ts';
import type { Journal } from './journal.ts';

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 5 * 60_000;
/** A message that could not be delivered for so long is given up, so that those behind it are not lost with it. */
const GIVE_UP_MS = 24 * 60 * 60 * 1000;
const READ_AT_ONCE = 50;
/** So many failures in a row are no restart of the journal. */
const LASTING_FAILURES = 4;
/** So many answers of no, and the message is taken to be the reason rather than the receiver: the next ones are tried. */
const REFUSED_OFTEN = 4;
/** Of those behind it; a receiver that takes none of them takes nothing. */
const TRIED_BEHIND = 3;
/** What is raised within this time is looked at together. */
const GATHER_MS = 250;

export type Send = (destination: StoredDestination, message: Message) => Promise<void>;

/**
 * How long after attempt n the next one is, a fifth more or less: many that wait for the same server do not come at once.
 * @param random from 0 to 1
 */
export function backOff(attempts: number, random: () => number = Math.random): number {
  const usual = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.max(0, Math.min(attempts, 30) - 1));
  return Math.round(usual * (0.8 + 0.4 * random()));
}

export interface OutboxParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly journal: Journal;
  readonly destinations: Destinations;
  readonly changes: Changes;
  readonly send: Send;
  /** A message was given up because the destination refuses it, in the words given. */
  readonly refused: (destination: StoredDestination, message: Message, words: string) => void;
  readonly log: Log;
  /** How long to wait before attempt n + 1; tests make it short. */
  readonly retryAfterMs?: (attempts: number) => number;
  readonly gatherMs?: number;
  readonly bursts?: BurstOptions;
  readonly about: About;
  /** Which alerts can wait for the daily message. */
  readonly digest: Pick<Digest, 'canWait'>;
}

/** Something to wait for: woken by any change, at the latest when the time is up. */
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

/** What is to be sent, as it is looked at. */
interface Waiting {
  readonly id: string;
  readonly event: Message['event'];
  readonly rule: string | null;
}

type Tried = 'delivered' | 'over' | 'refused' | 'failed';

interface Worker {
  readonly bell: Bell;
  stopped: boolean;
  /** Attempts in a row that failed since the last change: as many as that, and not all ever, say how long to wait. */
  failures: number;
  readonly done: Promise<void>;
}

export class Outbox {
  readonly #parts: OutboxParts;
  readonly #retryAfterMs: (attempts: number) => number;
  readonly #workers = new Map<string, Worker>();
  readonly #flushBell = new Bell();
  /** Rung by a stop alone. */
  readonly #pause = new Bell();
  readonly #gatherMs: number;
  readonly #bursts: Bursts;
  #flusher: Promise<void> | null = null;
  #stopped = false;

  constructor(parts: OutboxParts) {
    this.#parts = parts;
    this.#retryAfterMs = parts.retryAfterMs ?? ((attempts) => backOff(attempts));
    this.#gatherMs = parts.gatherMs ?? GATHER_MS;
    this.#bursts = new Bursts(parts.bursts ?? BURSTS);
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
      known.failures = 0;
      known.bell.ring();
      return;
    }
    const bell = new Bell();
    const worker: Worker = {
      bell,
      stopped: false,
      failures: 0,
      done: Promise.resolve().then(() => this.#work(id, worker)),
    };
    this.#workers.set(id, worker);
  }

  /**
   * What waits is tried at once, and soon again: something has changed that may have been why it waits. Without it, whoever
   * was cut off for an hour would be notified five minutes after the cable is back.
   */
  tryAgain(): void {
    for (const worker of this.#workers.values()) {
      worker.failures = 0;
      worker.bell.ring();
    }
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
        const { any, again } = await this.#flush();
        if (any) for (const { bell } of this.#workers.values()) bell.ring();
        failures = 0;
        await this.#flushBell.wait(Math.min(60_000, Math.max(again, this.#gatherMs)));
        // What comes together is looked at together; a stop does not wait for it.
        if (!this.#stopped && this.#gatherMs > 0) await this.#pause.wait(this.#gatherMs);
      } catch (error) {
        failures++;
        this.#journalFailed('alerts cannot be written to the journal', error, failures);
        await this.#flushBell.wait(Math.max(this.#retryAfterMs(failures), 100));
      }
    }
  }

  /** A journal that ended is started again within seconds; one that goes on failing keeps alerts from being sent. */
  #journalFailed(message: string, error: unknown, failures: number, fields: Fields = {}): void {
    const { log } = this.#parts;
    if (failures < LASTING_FAILURES) logFailure(log, message, error, fields);
    else log.error(message, { ...fields, attempts: failures, error: asProblem(error).detail });
  }

  /** `again`: in how many milliseconds what is gathered now is to be looked at again. */
  async #flush(): Promise<{ any: boolean; again: number }> {
    const { db, journal } = this.#parts;
    const { ready, again } = this.#gather();
    let any = false;
    for (const eventId of ready) {
      if (this.#stopped) break;
      const row = db.get('SELECT message_json FROM outbox WHERE event_id = ?', eventId);
      if (row === undefined) continue;
      await journal.append(Buffer.from(row.message_json as string));
      db.run('DELETE FROM outbox WHERE event_id = ?', eventId);
      any = true;
    }
    return { any, again };
  }

  /**
   * Decides about all that waits: sent as it is, merged with others, kept for the digest, or not yet. Ids of messages to be
   * taken to the journal, in order.
   */
  #gather(): { ready: string[]; again: number } {
    const { db, digest } = this.#parts;
    const rows = db.all(
      `SELECT event_id, json_extract(message_json, '$.alert.class') AS class, json_extract(message_json, '$.event') AS event,
         json_extract(message_json, '$.alert.severity') AS severity, json_extract(message_json, '$.group.count') AS merged,
         json_extract(message_json, '$.alert.ruleId') AS rule
       FROM outbox ORDER BY rowid`,
    ) as (Omit<Waiting, 'id'> & { event_id: string; class: string; severity: Severity; merged: number | null })[];
    const ready: string[] = [];
    const classes = new Map<string, Waiting[]>();
    const waiting: string[] = [];
    for (const { event_id: id, class: name, event, severity, merged: count, rule } of rows) {
      // Merged before a crash.
      if (count !== null) ready.push(id);
      else if (event !== 'escalate' && digest.canWait(severity)) waiting.push(id);
      else {
        const known = classes.get(name);
        if (known === undefined) classes.set(name, [{ id, event, rule }]);
        else known.push({ id, event, rule });
      }
    }
    if (waiting.length > 0) {
      db.transaction(() => {
        for (const id of waiting) {
          db.run('INSERT OR IGNORE INTO digest SELECT * FROM outbox WHERE event_id = ?', id);
          db.run('DELETE FROM outbox WHERE event_id = ?', id);
        }
      });
    }
    let again = 60_000;
    const now = Date.now();
    for (const [name, messages] of classes) {
      const { wait, merge } = this.#bursts.look(name, messages.length, now);
      if (wait > 0) {
        again = Math.min(again, wait);
        continue;
      }
      this.#bursts.sent(name, merge, now);
      if (merge) ready.push(...this.#merge(messages));
      else ready.push(...messages.map(({ id }) => id));
    }
    return { ready, again };
  }

  /** One message for each event and each set of destinations, and for each rule that has a burst of its own. */
  #merge(messages: readonly Waiting[]): string[] {
    const { db, clock } = this.#parts;
    const ofRule = Map.groupBy(messages, ({ event, rule }) => `${event} ${rule}`);
    return db.transaction(() => {
      const groups = new Map<string, string[]>();
      for (const event of ORDER) {
        for (const one of messages) {
          if (one.event !== event) continue;
          // What was delivered before a crash is not sent again.
          const to = db
            .all("SELECT destination_id FROM deliveries WHERE event_id = ? AND state = 'waiting'", one.id)
            .map((row) => row.destination_id as string)
            .sort();
          if (to.length === 0) {
            db.run('DELETE FROM outbox WHERE event_id = ?', one.id);
            continue;
          }
          const own = this.#bursts.isBurst(ofRule.get(`${event} ${one.rule}`)?.length ?? 0);
          const key = [event, own ? one.rule : '', ...to].join(' ');
          const group = groups.get(key);
          if (group === undefined) groups.set(key, [one.id]);
          else group.push(one.id);
        }
      }
      return [...groups.values()].map((ids) => {
        const first = ids[0] as string;
        return ids.length === 1 ? first : this.#mergeInto('burst', ids, null, clock.now(), 'outbox');
      });
    });
  }

  /** Inside a transaction. `only`: of these events, their deliveries to this destination. */
  #mergeInto(
    kind: MessageGroup['kind'],
    ids: readonly string[],
    only: string | null,
    now: number,
    table: 'outbox' | 'digest',
  ): string {
    const { db } = this.#parts;
    const id = newId('gr', now);
    const read = `SELECT message_json FROM ${table} WHERE event_id = ?`;
    const messages = ids.map((one) => JSON.parse(db.get(read, one)?.message_json as string) as Message);
    // An all-clear of all alerts of one message belongs to it.
    const threads = new Set(
      messages[0]?.event === 'raise'
        ? [id]
        : messages.map(({ alert }) => {
            const sql = "SELECT message_id FROM deliveries WHERE alert_id = ? AND event = 'raise' LIMIT 1";
            return (db.get(sql, alert.id)?.message_id as string | undefined) ?? id;
          }),
    );
    const thread = threads.size === 1 ? ([...threads][0] as string) : id;
    db.run(
      'INSERT INTO outbox VALUES (?, ?, ?)',
      id,
      JSON.stringify(merged(id, kind, messages, now, thread, this.#parts.about)),
      now,
    );
    for (const one of ids) {
      db.run(
        `UPDATE deliveries SET message_id = ? WHERE event_id = ? AND state = 'waiting' AND (? IS NULL OR destination_id = ?)`,
        ...[id, one, only, only],
      );
      if (table === 'outbox') db.run('DELETE FROM outbox WHERE event_id = ?', one);
    }
    return id;
  }

  /** Sends the digest: one message to each destination. */
  sendDigest(): void {
    const { db, clock } = this.#parts;
    db.transaction(() => {
      const rows = db.all(
        `SELECT deliveries.destination_id AS destination, digest.event_id AS event FROM digest
         JOIN deliveries ON deliveries.event_id = digest.event_id AND deliveries.state = 'waiting'
         ORDER BY digest.rowid`,
      );
      const of = new Map<string, string[]>();
      for (const { destination, event } of rows) {
        const known = of.get(destination as string);
        if (known === undefined) of.set(destination as string, [event as string]);
        else known.push(event as string);
      }
      for (const [destination, ids] of of) this.#mergeInto('digest', ids, destination, clock.now(), 'digest');
      db.run('DELETE FROM digest');
    });
    this.written();
  }

  async #work(id: string, worker: Worker): Promise<void> {
    const { journal } = this.#parts;
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
        this.#journalFailed('the outbox of a destination is held up', error, failures, { destination: id });
        await worker.bell.wait(Math.max(this.#retryAfterMs(failures), 100));
      }
    }
  }

  /** Returns when the message needs no more: delivered, given up, or not for this destination. */
  async #deliver(id: string, worker: Worker, data: Buffer): Promise<void> {
    let takesOthers = false;
    for (let refusals = 0; ; ) {
      const tried = await this.#try(id, worker, data, takesOthers);
      if (tried === 'delivered' || tried === 'over') return;
      refusals = tried === 'refused' ? refusals + 1 : 0;
      if (refusals >= REFUSED_OFTEN && !takesOthers && (await this.#takesNext(id, worker))) {
        takesOthers = true;
        continue; // again, at once
      }
      worker.failures += 1;
      await worker.bell.wait(this.#retryAfterMs(worker.failures));
      if (worker.stopped) return;
    }
  }

  /** Whether a destination that refuses its first message takes one of those behind it; that is then delivered. */
  async #takesNext(id: string, worker: Worker): Promise<boolean> {
    const [, ...behind] = await this.#parts.journal.read(id, READ_AT_ONCE);
    let tries = 0;
    for (const { data } of behind) {
      const tried = await this.#try(id, worker, data);
      if (tried === 'delivered') return true;
      if (tried === 'failed' || worker.stopped || (tried === 'refused' && ++tries === TRIED_BEHIND)) return false;
    }
    return false;
  }

  /**
   * One attempt. `over`: it needs no more, because it was delivered before, is given up, or is not for this destination.
   * @param takesOthers what was behind this message was accepted: refused again, it is dropped
   */
  async #try(id: string, worker: Worker, data: Buffer, takesOthers = false): Promise<Tried> {
    const { db, clock, destinations, changes, log } = this.#parts;
    let message: Message;
    try {
      message = JSON.parse(data.toString('utf8')) as Message;
    } catch {
      log.error('an unreadable message in the alert journal was skipped', { destination: id });
      return 'over';
    }
    const { eventId } = message;
    // A message of many alerts has a delivery for each of them, and all share one fate.
    const sql =
      'SELECT state, attempts FROM deliveries WHERE message_id = ? AND destination_id = ? ORDER BY rowid LIMIT 1';
    const delivery = db.get(sql, eventId, id);
    if (delivery?.state !== 'waiting') return 'over';
    const destination = destinations.stored(id);
    if (destination === undefined || worker.stopped) return 'over';
    const attempts = (delivery.attempts as number) + 1;
    /** @param says whether it shows the state of the destination */
    const note = (state: 'waiting' | 'delivered' | 'failed', error: string | null, says = true) => {
      db.transaction(() => {
        db.run(
          'UPDATE deliveries SET state = ?, attempts = ?, last_error = ?, at = ? WHERE message_id = ? AND destination_id = ?',
          ...[state, attempts, error, clock.now(), eventId, id],
        );
        if (says) destinations.noteDelivery(id, error);
      });
      changes.publish('alerts', message.group === undefined ? message.alert.id : undefined);
      changes.publish('destinations', id);
    };
    try {
      await this.#parts.send(destination, message);
      note('delivered', null);
      worker.failures = 0;
      log.info('an alert was delivered', { destination: destination.name, event: eventId, attempts });
      return 'delivered';
    } catch (error) {
      const words = asProblem(error).code === 'internal' ? String((error as Error).message) : asProblem(error).detail;
      const refused = error instanceof Refused;
      const forGood = refused && takesOthers;
      const givenUp = forGood || clock.now() - Date.parse(message.at) > GIVE_UP_MS;
      db.transaction(() => {
        // A destination that takes others is none that fails.
        note(givenUp ? 'failed' : 'waiting', words.slice(0, 1000), !forGood);
        if (forGood) this.#parts.refused(destination, message, words);
      });
      log.warn('an alert was not delivered', {
        ...{ destination: destination.name, event: eventId, attempts, error: words },
        ...(givenUp && { givenUp }),
      });
      if (givenUp) return 'over';
      return refused ? 'refused' : 'failed';
    }
  }

  /** Lets a delivery that is under way finish; whatever is not done goes on at the next start. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#flushBell.ring();
    this.#pause.ring();
    for (const worker of this.#workers.values()) {
      worker.stopped = true;
      worker.bell.ring();
    }
    await Promise.all([this.#flusher, ...[...this.#workers.values()].map(({ done }) => done)]);
  }
}
