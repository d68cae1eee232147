// The history of the settings: who changed which part, when and by which way, and the part before. A change is noticed by
// comparing with what was seen last, whichever way it came; what is not seen at once is seen by the next look.
import type { Clock } from '../../base/clock.ts';
import { iso } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { logFailure } from '../../base/problems/log-failure.ts';
import { fail } from '../../base/problems/problem.ts';
import type { SettingsPart } from '../../domain/settings-part.ts';
import { appliance, type By } from '../../http/gate/caller.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Database, Row } from '../../state/database.ts';
import { changesBetween, same, shownOf } from './changes.ts';
import { LEFT_OUT, upgraded } from './document.ts';
import { at, type Json, plain, put } from './pointer.ts';
import type { CAUSES, SettingsComparison, SettingsHistoryEntry } from './schema.ts';
import type { Box } from './sealed-box.ts';

export type Cause = (typeof CAUSES)[number];

/** So many changes are kept, and no more than that of them all together. */
export const KEPT = 1_000;
const KEPT_BYTES = 64 * 1024 * 1024;

export interface HistoryParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly changes: Changes;
  readonly box: Box;
  readonly all: () => readonly SettingsPart[];
}

/** As the history has it: what lets somebody in is not kept. */
function withoutCredentials(part: SettingsPart, value: unknown): unknown {
  const without = (one: unknown) =>
    (part.credentials ?? []).reduce(
      (left, pointer) => (at(left, pointer) === undefined ? left : put(left, pointer, LEFT_OUT)),
      one,
    );
  if (!part.many) return without(value);
  return Object.fromEntries(Object.entries(value as Json).map(([key, one]) => [key, without(one)]));
}

export class History {
  readonly #parts: HistoryParts;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(parts: HistoryParts) {
    this.#parts = parts;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => {});
    return turn;
  }

  /** Looks whether parts have changed, and notes it as made by somebody. Returns the entries that it made. */
  note(parts: readonly SettingsPart[], by: By, cause: Cause = 'change'): Promise<string[]> {
    return this.#inTurn(async () => {
      const made: string[] = [];
      for (const part of parts) {
        try {
          const id = this.#noteOne(part, withoutCredentials(part, plain(await part.read())), by, cause);
          if (id !== null) made.push(id);
        } catch (error) {
          // It is seen by a later look.
          logFailure(this.#parts.log, 'whether settings have changed is not known now', error, { kind: part.name });
        }
      }
      return made;
    });
  }

  /** Looks at parts that were never seen. */
  async begin(parts: readonly SettingsPart[]): Promise<void> {
    const sql = 'SELECT 1 FROM settings_seen WHERE part = ?';
    const unseen = parts.filter(({ name }) => this.#parts.db.get(sql, name) === undefined);
    if (unseen.length > 0) await this.note(unseen, appliance);
  }

  /** Once a minute: what changed by itself, while akd was down, or could not be read then. */
  async look(): Promise<void> {
    await this.note(this.#parts.all(), appliance);
  }

  #noteOne(part: SettingsPart, value: unknown, by: By, cause: Cause): string | null {
    const { db, clock, box, changes } = this.#parts;
    const row = db.get('SELECT version, sealed_secret FROM settings_seen WHERE part = ?', part.name);
    const before = row === undefined ? undefined : this.#value(part, row);
    if (same(before, value)) return null;
    return db.transaction(() => {
      db.run(
        `INSERT INTO settings_seen VALUES (?, ?, ?)
         ON CONFLICT (part) DO UPDATE SET version = excluded.version, sealed_secret = excluded.sealed_secret`,
        ...[part.name, part.version, box.seal(part.name, value)],
      );
      // Seen for the first time, or the key is another one: there is nothing before.
      if (before === undefined) return null;
      const count = { added: 0, changed: 0, removed: 0 };
      for (const { kind } of changesBetween(part, before, value)) count[kind]++;
      db.run(
        `INSERT INTO settings_changes (time, user, address, way, cause, part, version, counts_json, sealed_secret)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        ...[clock.now(), by.name, by.address, by.way, cause, part.name, part.version],
        ...[JSON.stringify(count), box.seal(part.name, before)],
      );
      const id = String(db.get('SELECT last_insert_rowid() AS id')?.id);
      this.#prune();
      changes.publish('settings', id);
      return id;
    });
  }

  #value(part: SettingsPart, row: Row): unknown {
    const value = this.#parts.box.open(part.name, row.sealed_secret as string);
    if (value === undefined) return undefined;
    const now = upgraded(part, { version: row.version as number, value });
    return typeof now === 'string' ? undefined : now.value;
  }

  #prune(): void {
    const { db } = this.#parts;
    db.run(
      `DELETE FROM settings_changes WHERE id <= coalesce((SELECT id FROM (
         SELECT id, row_number() OVER newest AS place, sum(length(sealed_secret)) OVER newest AS bytes
         FROM settings_changes WINDOW newest AS (ORDER BY id DESC)
       ) WHERE place > ? OR bytes > ? ORDER BY id DESC LIMIT 1), 0)`,
      ...[KEPT, KEPT_BYTES],
    );
  }

  #entry(row: Row): SettingsHistoryEntry {
    const part = this.#parts.all().find(({ name }) => name === row.part);
    return {
      ...{ id: String(row.id), time: iso(row.time as number) },
      ...{ user: row.user as string, address: row.address as string, way: row.way as SettingsHistoryEntry['way'] },
      ...{ cause: row.cause as Cause, part: row.part as string, title: part?.title ?? (row.part as string) },
      ...(JSON.parse(row.counts_json as string) as Pick<SettingsHistoryEntry, 'added' | 'changed' | 'removed'>),
    };
  }

  list(limit: number, before: string | undefined, part: string | undefined): SettingsHistoryEntry[] {
    return this.#parts.db
      .all(
        'SELECT * FROM settings_changes WHERE id < ?1 AND (?2 IS NULL OR part = ?2) ORDER BY id DESC LIMIT ?3',
        before === undefined ? Number.MAX_SAFE_INTEGER : Number(before),
        part ?? null,
        limit,
      )
      .map((row) => this.#entry(row));
  }

  #row(id: string): Row {
    const row = this.#parts.db.get('SELECT * FROM settings_changes WHERE id = ?', Number(id));
    if (row === undefined) {
      throw fail(
        'not_found',
        `There is no change ${id} in the history of the settings.`,
        `The newest ${KEPT} are kept.`,
      );
    }
    return row;
  }

  /** The part, its value before a change, and the version that it was of. */
  before(id: string): { part: SettingsPart; version: number; value: unknown; entry: SettingsHistoryEntry } {
    const row = this.#row(id);
    const part = this.#parts.all().find(({ name }) => name === row.part);
    const value = this.#parts.box.open(row.part as string, row.sealed_secret as string);
    if (part === undefined || value === undefined) {
      throw fail(
        'conflict',
        `What ${row.part} was before the change ${id} cannot be read any more.`,
        part === undefined ? 'This version has no such part.' : 'The key of the appliance is another one now.',
      );
    }
    return { part, version: row.version as number, value, entry: this.#entry(row) };
  }

  async compare(id: string, other: string | undefined): Promise<SettingsComparison> {
    const { part, version, value, entry } = this.before(id);
    const then = upgraded(part, { version, value });
    if (typeof then === 'string') throw fail('conflict', `The version of ${part.name} ${then}.`);
    // What a change made of a part is what was before the next change.
    const next =
      other === undefined
        ? this.#parts.db.get(
            'SELECT * FROM settings_changes WHERE part = ? AND id > ? ORDER BY id LIMIT 1',
            part.name,
            Number(id),
          )
        : other === 'now'
          ? undefined
          : this.#row(other);
    if (next !== undefined && next.part !== part.name) {
      throw fail('invalid_request', `The change ${other} is of ${next.part}, and ${id} of ${part.name}.`, undefined, [
        { path: '/with', message: 'is a change of another part' },
      ]);
    }
    const after = next === undefined ? withoutCredentials(part, plain(await part.read())) : this.#value(part, next);
    if (after === undefined) throw fail('conflict', `What ${part.name} was then cannot be read any more.`);
    return {
      ...{ entry, with: other === undefined || next === undefined ? null : this.#entry(next) },
      ...{
        changes: changesBetween(part, then.value, after),
        before: shownOf(part, then.value),
        after: shownOf(part, after),
      },
    };
  }
}
