// The hash chain of the audit log: each entry's hash covers its own fields and the hash of the entry before it. What is
// hashed is in docs/FORMATS.md byte by byte, so that anybody can check it with other tools.
import { createHash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';

/** What the first entry of all follows. */
export const GENESIS = '0'.repeat(64);

/** An entry as it is stored. */
export interface Stored {
  readonly id: number;
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly user: string;
  readonly address: string;
  /** Null: an entry from before ways were recorded. */
  readonly way: string | null;
  readonly action: string;
  readonly target: string;
  readonly before_json: string | null;
  readonly after_json: string | null;
}

/** The hash of an entry and of where it stands. */
export interface Link {
  readonly id: number;
  readonly hash: string;
}

/** A field with its length in bytes, so that no two entries have the same text. */
const field = (value: string | null) => (value === null ? '-\n' : `${Buffer.byteLength(value)}:${value}\n`);

export function canonical(previous: string, entry: Stored): string {
  const { id, time, user, address, way, action, target, before_json, after_json } = entry;
  const fields = [String(id), String(time), user, address, way, action, target, before_json, after_json];
  return `cistern-audit-1\n${previous}\n${fields.map(field).join('')}`;
}

export function hashOf(previous: string, entry: Stored): string {
  return createHash('sha256').update(canonical(previous, entry)).digest('hex');
}

const PAGE = 1_000;

/** Chains entries from before there was a chain, as they are found: what was changed earlier is not found out. */
export function chainAll(db: DatabaseSync): void {
  const read = db.prepare('SELECT * FROM audit WHERE id > ? ORDER BY id LIMIT ?');
  const write = db.prepare('UPDATE audit SET entry_hash = ? WHERE id = ?');
  let last: Link = { id: 0, hash: GENESIS };
  for (;;) {
    const rows = read.all(last.id, PAGE) as unknown as Stored[];
    for (const row of rows) {
      last = { id: row.id, hash: hashOf(last.hash, row) };
      write.run(last.hash, last.id);
    }
    if (rows.length < PAGE) return;
  }
}
