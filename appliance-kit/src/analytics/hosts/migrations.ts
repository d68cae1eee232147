// The tables of this domain.
import type { Migration } from '../../state/database.ts';

export const migrations: readonly Migration[] = [
  {
    sql: `
  -- What people say of hosts; which hosts there are is known to the store.
  CREATE TABLE hosts (
    name TEXT PRIMARY KEY,
    note TEXT NOT NULL DEFAULT '',
    labels_json TEXT NOT NULL DEFAULT '{}',
    retired_at INTEGER,
    retired_by TEXT
  ) STRICT;
  CREATE TABLE host_views (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    owner TEXT NOT NULL,               -- a user's or a token's name: what they made outlives them
    shared INTEGER NOT NULL,
    address TEXT NOT NULL              -- the query of the page's address
  ) STRICT;
    `,
  },
];
