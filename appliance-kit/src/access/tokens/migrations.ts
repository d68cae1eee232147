// The tables of this domain.
import type { Migration } from '../../state/database.ts';

export const migrations: readonly Migration[] = [
  {
    inFormat6: true,
    sql: `
  CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('writer', 'viewer', 'operator', 'administrator')),
    hash TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER
  ) STRICT;
    `,
  },
];
