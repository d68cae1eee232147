// The tables of this domain.
import type { Migration } from '../../state/database.ts';

export const migrations: readonly Migration[] = [
  {
    sql: `
  CREATE TABLE factors (
    id TEXT PRIMARY KEY,
    user TEXT NOT NULL REFERENCES users (name) ON DELETE CASCADE,
    kind TEXT NOT NULL CHECK (kind IN ('app')),
    name TEXT NOT NULL,
    sealed_secret TEXT NOT NULL,     -- state/sealed.ts; belongs to 'factor', user, id
    created_at INTEGER NOT NULL,
    last_used_at INTEGER,
    last_step INTEGER NOT NULL       -- the step of the last code that was taken: none is taken twice
  ) STRICT;
  CREATE INDEX factors_by_user ON factors (user);

  -- hash: recovery-codes.ts.
  CREATE TABLE recovery_codes (
    user TEXT NOT NULL REFERENCES users (name) ON DELETE CASCADE,
    hash TEXT NOT NULL,
    used_at INTEGER,
    PRIMARY KEY (user, hash)
  ) STRICT;
    `,
  },
];
