// The tables of this domain.
import type { Migration } from '../../state/database.ts';

export const migrations: readonly Migration[] = [
  {
    sql: `
  -- Each change of a part: who made it, and the part before. sealed_secret: the value in deflate, sealed (state/sealed.ts).
  CREATE TABLE settings_changes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    time INTEGER NOT NULL,
    user TEXT NOT NULL,
    address TEXT NOT NULL,
    way TEXT NOT NULL,
    cause TEXT NOT NULL,
    part TEXT NOT NULL,
    version INTEGER NOT NULL,
    counts_json TEXT NOT NULL,           -- added, changed, removed
    sealed_secret TEXT NOT NULL
  ) STRICT;
  CREATE INDEX settings_changes_by_part ON settings_changes (part);

  -- Each part as it was last seen, so that a change is noticed by whichever way it came.
  CREATE TABLE settings_seen (
    part TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    sealed_secret TEXT NOT NULL
  ) STRICT;

  -- While a document is applied: each part that changes, as it was and as it is to be.
  CREATE TABLE settings_applying (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    started_at INTEGER NOT NULL,
    user TEXT NOT NULL,
    address TEXT NOT NULL,
    way TEXT NOT NULL,
    cause TEXT NOT NULL,
    applied INTEGER NOT NULL,            -- 1: all of it is, and was read back
    sealed_secret TEXT NOT NULL
  ) STRICT;
    `,
  },
];
