// The tables of this domain.
import type { Migration } from '../../state/database.ts';

export const migrations: readonly Migration[] = [
  {
    inFormat6: true,
    sql: `
  CREATE TABLE destinations (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    settings_json TEXT NOT NULL,  -- its secrets are sealed: state/sealed-fields.ts
    last_success_at INTEGER,
    last_error TEXT,
    failing_since INTEGER,
    created_at INTEGER NOT NULL
  ) STRICT;
    `,
  },
];
