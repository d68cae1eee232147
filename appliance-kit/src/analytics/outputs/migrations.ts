// The tables of this domain.
import type { Migration } from '../../state/database.ts';

export const migrations: readonly Migration[] = [
  {
    sql: `
  CREATE TABLE outputs (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    settings_json TEXT NOT NULL,  -- its secrets are sealed: state/sealed-fields.ts
    created_at INTEGER NOT NULL
  ) STRICT;
    `,
  },
];
