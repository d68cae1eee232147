// The tables of this domain.
import type { Migration } from '../../state/database.ts';

export const migrations: readonly Migration[] = [
  {
    sql: `
  CREATE TABLE objectives (
    id TEXT PRIMARY KEY,
    objective_json TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT;
    `,
  },
];
