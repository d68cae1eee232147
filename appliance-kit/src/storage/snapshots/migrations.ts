// The tables of this domain.
import type { Migration } from '../../state/database.ts';

export const migrations: readonly Migration[] = [
  {
    inFormat6: true,
    sql: `
  CREATE TABLE snapshot_schedules (
    id TEXT PRIMARY KEY,
    dataset TEXT NOT NULL,
    recursive INTEGER NOT NULL,
    schedule_json TEXT NOT NULL,
    keep_json TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    last_run_at INTEGER,               -- when it was last begun, whatever came of it
    last_error TEXT
  ) STRICT;
    `,
  },
];
