// The tables of this domain.
import type { Migration } from '../../state/database.ts';

export const migrations: readonly Migration[] = [
  {
    sql: `
  CREATE TABLE providers (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL CHECK (kind IN ('ldap', 'oidc')),
    enabled INTEGER NOT NULL,
    settings_json TEXT NOT NULL,  -- with roles and otherwise; its secrets are sealed: state/sealed-fields.ts
    created_at INTEGER NOT NULL
  ) STRICT;
    `,
  },
];
