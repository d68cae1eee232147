// The record of every change: who, from where, by which way, what, from which value to which. Secrets are masked before
// they are written, so that the log need not be kept secret. Entries are chained (chain.ts).

import { createHash } from 'node:crypto';
import { type Clock, iso } from '../../base/clock.ts';
import { masked } from '../../base/masked.ts';
import { oneLine } from '../../base/words.ts';
import type { By } from '../../http/gate/caller.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Database, Row } from '../../state/database.ts';
import { GENESIS, hashOf, type Link, type Stored } from './chain.ts';
import { Repetitions } from './repetitions.ts';
import type { AuditEntry } from './schema.ts';

/** A name, or what something is done to: what is longer was made up. */
const MAX_TEXT = 1_000;
/** A value that is longer is described by its hash and its beginning. */
const MAX_VALUE = 32 * 1024;
const BEGINNING = 4 * 1024;

function json(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  const text = JSON.stringify(masked(value));
  const bytes = Buffer.byteLength(text);
  if (bytes <= MAX_VALUE) return text;
  const sha256 = createHash('sha256').update(text).digest('hex');
  return JSON.stringify({ tooLong: { bytes, sha256, beginning: text.slice(0, BEGINNING) } });
}

export interface Anchor extends Link {
  /** Of the last entry that was dropped. */
  readonly time: number;
  readonly dropped: number;
}

export function entryOf(row: Row): AuditEntry {
  return {
    id: row.id as number,
    time: iso(row.time as number),
    user: row.user as string,
    address: row.address as string,
    way: row.way as AuditEntry['way'],
    action: row.action as string,
    target: row.target as string,
    before: JSON.parse((row.before_json as string | null) ?? 'null'),
    after: JSON.parse((row.after_json as string | null) ?? 'null'),
    hash: row.entry_hash as string,
  };
}

export class Audit {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #changes: Changes;
  readonly #repetitions: Repetitions;

  constructor(db: Database, clock: Clock, changes: Changes) {
    this.#db = db;
    this.#clock = clock;
    this.#changes = changes;
    this.#repetitions = new Repetitions(clock, (by, action, target, after) =>
      this.#append(by, action, target, null, after),
    );
  }

  /** Call it inside the transaction that makes the change: either both happened or neither did. */
  record(caller: By, action: string, target: string, before: unknown = null, after: unknown = null): void {
    this.#append(caller, action, target, before, after);
  }

  /**
   * For what can be repeated without end, as a refusal or a read: the first is recorded at once; those of the next minutes
   * are counted, and recorded as one (repetitions.ts).
   */
  recordRepeated(caller: By, action: string, target: string, after: Readonly<Record<string, unknown>> | null): void {
    this.#repetitions.happened(caller, action, target, after);
  }

  /** Once a minute, and at the end: what was counted is recorded. */
  recordCounted(all = false): void {
    this.#repetitions.record(all);
  }

  /** What happened elsewhere and is recorded now; `time`: when it happened. */
  recordLater(by: By, time: number, action: string, target: string, after: unknown): void {
    this.#append(by, action, target, null, after, time);
  }

  #append(by: By, action: string, target: string, before: unknown, after: unknown, time = this.#clock.now()): void {
    this.#db.transaction(() => {
      const newest = this.newest();
      const entry: Stored = {
        // A number is never given twice: where the newest entries were removed, the gap stays.
        id: Math.max(newest?.id ?? 0, this.lastGiven()) + 1,
        time,
        user: oneLine(by.name, MAX_TEXT) || '-',
        address: oneLine(by.address, 64),
        way: by.way,
        action,
        target: oneLine(target, MAX_TEXT),
        before_json: json(before),
        after_json: json(after),
      };
      this.#db.run(
        `INSERT INTO audit (id, time, user, address, way, action, target, before_json, after_json, entry_hash)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        ...[entry.id, entry.time, entry.user, entry.address, entry.way, entry.action, entry.target],
        ...[entry.before_json, entry.after_json, hashOf(newest?.hash ?? GENESIS, entry)],
      );
    });
    this.#changes.publish('audit');
  }

  /** What the next entry follows; undefined: it is the first of all. */
  newest(): (Link & { readonly time: number }) | undefined {
    const row = this.#db.get('SELECT id, entry_hash, time FROM audit ORDER BY id DESC LIMIT 1');
    if (row === undefined) return this.anchor();
    return { id: row.id as number, hash: row.entry_hash as string, time: row.time as number };
  }

  count(): number {
    return Number(this.#db.get('SELECT count(*) AS entries FROM audit')?.entries);
  }

  /** The highest number that an entry ever had. SQLite keeps it by itself (AUTOINCREMENT). */
  lastGiven(): number {
    return Number(this.#db.get("SELECT seq FROM sqlite_sequence WHERE name = 'audit'")?.seq ?? 0);
  }

  anchor(): Anchor | undefined {
    const row = this.#db.get('SELECT * FROM audit_anchor');
    if (row === undefined) return undefined;
    const { id, entry_hash: hash, time, dropped } = row;
    return { id: id as number, hash: hash as string, time: time as number, dropped: dropped as number };
  }

  /** The hash of an entry, or of the last one that was dropped. */
  hashAt(id: number): string | undefined {
    const anchor = this.anchor();
    if (anchor?.id === id) return anchor.hash;
    return this.#db.get('SELECT entry_hash FROM audit WHERE id = ?', id)?.entry_hash as string | undefined;
  }

  /** The newest first. */
  latest(limit: number): AuditEntry[] {
    return this.#db.all('SELECT * FROM audit ORDER BY id DESC LIMIT ?', limit).map(entryOf);
  }

  /** The oldest first, as they are stored. */
  after(id: number, limit: number): (Stored & { readonly entry_hash: string })[] {
    const rows: unknown = this.#db.all('SELECT * FROM audit WHERE id > ? ORDER BY id LIMIT ?', id, limit);
    return rows as (Stored & { readonly entry_hash: string })[];
  }

  /**
   * Drops the oldest entries that are older than `time` or have no place among the newest `entries`, at most `most` of
   * them. The newest is always kept. Returns how many went.
   */
  drop(time: number, entries: number, most: number): number {
    return this.#db.transaction(() => {
      const newest = this.newest()?.id ?? 0;
      const rows = this.#db.all('SELECT id, time, entry_hash FROM audit ORDER BY id LIMIT ?', most);
      const kept = rows.findIndex(
        (row) =>
          (row.id as number) === newest || ((row.id as number) > newest - entries && (row.time as number) >= time),
      );
      const gone = kept < 0 ? rows : rows.slice(0, kept);
      const last = gone.at(-1);
      if (last === undefined) return 0;
      this.#db.run('DELETE FROM audit WHERE id <= ?', last.id as number);
      this.#db.run(
        `INSERT INTO audit_anchor VALUES (1, ?, ?, ?, ?) ON CONFLICT (one) DO UPDATE SET
           id = excluded.id, entry_hash = excluded.entry_hash, time = excluded.time, dropped = dropped + excluded.dropped`,
        ...([last.id, last.entry_hash, last.time] as [number, string, number]),
        gone.length,
      );
      return gone.length;
    });
  }
}
