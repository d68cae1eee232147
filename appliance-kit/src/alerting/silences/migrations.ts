// The tables of this domain.
import type { Migration } from '../../state/database.ts';

export const migrations: readonly Migration[] = [
  {
    inFormat6: true,
    sql: `
  CREATE TABLE silences (
    id TEXT PRIMARY KEY,
    input_json TEXT NOT NULL,
    starts_at INTEGER NOT NULL,
    ends_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT;

  -- What a silence kept from being sent, until that is decided again at its end.
  CREATE TABLE held (
    alert_id TEXT NOT NULL,
    event TEXT NOT NULL,
    silence_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    released_at INTEGER
  ) STRICT;
  CREATE INDEX held_waiting ON held (alert_id) WHERE released_at IS NULL;
  CREATE INDEX held_silence ON held (silence_id);
    `,
  },
];
