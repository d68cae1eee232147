// The tables of this domain.
import type { Migration } from '../../state/database.ts';

export const migrations: readonly Migration[] = [
  {
    inFormat6: true,
    sql: `
  CREATE TABLE users (
    name TEXT PRIMARY KEY,
    role TEXT NOT NULL CHECK (role IN ('administrator', 'operator', 'viewer')),
    password_hash TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_sign_in_at INTEGER
  ) STRICT;
    `,
  },
  {
    sql: `
  ALTER TABLE users ADD COLUMN disabled_at INTEGER;
  -- The password was made by the appliance, is good until then, and must be changed at the first sign-in. NULL: it is the user's own.
  ALTER TABLE users ADD COLUMN one_time_until INTEGER;
  ALTER TABLE users ADD COLUMN password_changed_at INTEGER;
    `,
  },
  {
    sql: `
  -- Of whom an identity provider knows: its id, and what stays the same there when the user is renamed. Such a user has no password here.
  ALTER TABLE users ADD COLUMN provider TEXT;
  ALTER TABLE users ADD COLUMN subject TEXT;
  CREATE UNIQUE INDEX users_by_subject ON users (provider, subject) WHERE provider IS NOT NULL;
    `,
  },
];
