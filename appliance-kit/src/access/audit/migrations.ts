// The tables of this domain.
import type { Migration } from '../../state/database.ts';
import { chainAll } from './chain.ts';

export const migrations: readonly Migration[] = [
  {
    inFormat6: true,
    sql: `
  CREATE TABLE audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    time INTEGER NOT NULL,
    user TEXT NOT NULL,
    address TEXT NOT NULL,
    action TEXT NOT NULL,
    target TEXT NOT NULL,
    before_json TEXT,
    after_json TEXT
  ) STRICT;
    `,
  },
  {
    sql: `
  ALTER TABLE audit ADD COLUMN way TEXT;                          -- NULL: not known, of entries from before
  ALTER TABLE audit ADD COLUMN entry_hash TEXT NOT NULL DEFAULT '';
  UPDATE audit SET way = 'appliance' WHERE user = 'appliance';
  UPDATE audit SET way = 'token' WHERE user LIKE 'token:%';
  CREATE INDEX audit_by_user ON audit (user);
  CREATE INDEX audit_by_action ON audit (action);
  CREATE INDEX audit_by_target ON audit (target);
  CREATE INDEX audit_by_address ON audit (address);

  -- What the oldest entry follows, once older ones were dropped.
  CREATE TABLE audit_anchor (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    id INTEGER NOT NULL,
    entry_hash TEXT NOT NULL,
    time INTEGER NOT NULL,
    dropped INTEGER NOT NULL
  ) STRICT;
    `,
    further: chainAll,
  },
];
