// The tables of this domain.
import type { Migration } from '../state/database.ts';

export const migrations: readonly Migration[] = [
  {
    inFormat6: true,
    sql: `
  CREATE TABLE jobs (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    title TEXT NOT NULL,
    state TEXT NOT NULL,
    percent REAL,
    step TEXT,
    started_at INTEGER NOT NULL,
    finished_at INTEGER,
    error_json TEXT,
    result_json TEXT,
    log_json TEXT NOT NULL,
    cancellable INTEGER NOT NULL
  ) STRICT;
    `,
  },
];
