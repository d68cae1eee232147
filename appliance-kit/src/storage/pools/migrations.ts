// The tables of this domain.
import type { Migration } from '../../state/database.ts';

export const migrations: readonly Migration[] = [
  {
    inFormat6: true,
    sql: `
  CREATE TABLE scrub_schedules (
    pool TEXT PRIMARY KEY,
    enabled INTEGER NOT NULL,
    schedule_json TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_run_at INTEGER
  ) STRICT;

  -- What each scan of a pool found: ZFS itself remembers only the last one.
  CREATE TABLE scans (
    pool TEXT NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    finished_at INTEGER,
    bytes INTEGER NOT NULL,
    repaired_bytes INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    PRIMARY KEY (pool, started_at)
  ) STRICT;
    `,
  },
];
