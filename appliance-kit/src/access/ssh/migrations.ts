// The tables of this domain.
import type { Migration } from '../../state/database.ts';

export const migrations: readonly Migration[] = [
  {
    sql: `
  CREATE TABLE ssh_keys (
    id TEXT PRIMARY KEY,
    user TEXT NOT NULL REFERENCES users (name) ON DELETE CASCADE,
    key TEXT NOT NULL,                  -- its kind and its content, as a .pub file has them
    fingerprint TEXT NOT NULL UNIQUE,   -- a key is one user's: by it the audit log knows who came
    comment TEXT NOT NULL,
    added INTEGER NOT NULL,
    last_used INTEGER
  ) STRICT;
  CREATE INDEX ssh_keys_by_user ON ssh_keys (user);
    `,
  },
];
