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
  {
    sql: `
  DROP TABLE attempts;
  ALTER TABLE sessions ADD COLUMN id TEXT;
  UPDATE sessions SET id = 'ses_' || lower(hex(randomblob(8)));
  CREATE UNIQUE INDEX sessions_by_id ON sessions (id);
  CREATE INDEX sessions_by_user ON sessions (user);
  ALTER TABLE sessions ADD COLUMN address TEXT;        -- of the last use
  ALTER TABLE sessions ADD COLUMN browser TEXT;        -- User-Agent of the sign-in
  ALTER TABLE sessions ADD COLUMN last_used_at INTEGER;
  ALTER TABLE sessions ADD COLUMN confirmed_at INTEGER; -- when the password was given last

  -- Addresses that have used up their guesses: a restart is no way around it.
  CREATE TABLE used_up_guesses (
    key TEXT PRIMARY KEY,
    at INTEGER NOT NULL
  ) STRICT;

  -- Browsers in which a user has signed in. hash: SHA-256 of the cookie's value.
  CREATE TABLE known_browsers (
    hash TEXT PRIMARY KEY,
    user TEXT NOT NULL REFERENCES users (name) ON DELETE CASCADE,
    used_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX known_browsers_by_user ON known_browsers (user);
    `,
  },
];
