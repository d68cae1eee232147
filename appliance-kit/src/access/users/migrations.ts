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
];
