// The tables of this domain.
import type { Migration } from '../../state/database.ts';

export const migrations: readonly Migration[] = [
  {
    inFormat6: true,
    sql: `
  CREATE TABLE replications (
    id TEXT PRIMARY KEY,
    input_json TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_run_at INTEGER,               -- when it was last begun, whatever came of it
    last_error_json TEXT,
    last_bytes INTEGER NOT NULL DEFAULT 0,
    last_seconds REAL NOT NULL DEFAULT 0,
    done_snapshot TEXT,                -- has arrived; the next run goes on from it
    done_at INTEGER,                   -- when that one was taken
    pending_snapshot TEXT,             -- of a run that has not ended well yet
    pending_at INTEGER,
    retry_at INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0
  ) STRICT;

  CREATE TABLE replication_senders (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    public_key TEXT NOT NULL,
    under TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT;
    `,
  },
];
