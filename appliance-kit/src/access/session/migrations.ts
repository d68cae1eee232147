// The tables of this domain.
import type { Migration } from '../../state/database.ts';

export const migrations: readonly Migration[] = [
  {
    inFormat6: true,
    sql: `
  -- hash: SHA-256 of the cookie's value, so that a copy of this file signs nobody in.
  CREATE TABLE sessions (
    hash TEXT PRIMARY KEY,
    user TEXT REFERENCES users (name) ON DELETE CASCADE,  -- NULL: the set-up cookie
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE attempts (
    kind TEXT NOT NULL,
    account TEXT NOT NULL,
    address TEXT NOT NULL,
    failures INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    locked_until INTEGER NOT NULL,
    PRIMARY KEY (kind, account, address)
  ) STRICT;
    `,
  },
];
