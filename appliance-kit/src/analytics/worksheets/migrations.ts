// The tables of this domain.
import type { Migration } from '../../state/database.ts';

export const migrations: readonly Migration[] = [
  {
    inFormat6: true,
    sql: `
  CREATE TABLE worksheets (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    owner TEXT NOT NULL,               -- a user's or a token's name: what they made outlives them
    shared INTEGER NOT NULL,
    content_json TEXT NOT NULL,        -- charts, time range, annotations
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
  ) STRICT;
    `,
  },
];
