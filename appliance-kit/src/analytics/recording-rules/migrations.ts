// The tables of this domain.
import type { Migration } from '../../state/database.ts';

export const migrations: readonly Migration[] = [
  {
    sql: `
  CREATE TABLE recording_rules (
    position INTEGER PRIMARY KEY AUTOINCREMENT,   -- the order of evaluation within a group
    id TEXT NOT NULL UNIQUE,
    rule_json TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT;
    `,
  },
];
