// The tables of this domain.
import type { Migration } from '../../state/database.ts';

export const migrations: readonly Migration[] = [
  {
    inFormat6: true,
    sql: `
  CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('writer', 'viewer', 'operator', 'administrator')),
    hash TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER
  ) STRICT;
    `,
  },
  {
    sql: `
  -- NULL: made before tokens had owners; it belongs to the appliance.
  ALTER TABLE tokens ADD COLUMN owner TEXT REFERENCES users (name) ON DELETE CASCADE;
  ALTER TABLE tokens ADD COLUMN expires_at INTEGER;                    -- NULL: never
  ALTER TABLE tokens ADD COLUMN networks_json TEXT NOT NULL DEFAULT '[]'; -- none: from everywhere
  ALTER TABLE tokens ADD COLUMN last_used_from TEXT;
    `,
  },
  {
    sql: `
  ALTER TABLE tokens ADD COLUMN labels_json TEXT NOT NULL DEFAULT '{}'; -- forced on what it sends
  ALTER TABLE tokens ADD COLUMN selector TEXT;                          -- of the series that it reads; NULL: all
    `,
  },
  {
    sql: `
  -- PEM in place of a secret; NULL: it is a secret. hash then has what it is found by: certificate:SHA256, or
  -- issuer:SHA256:NAME.
  ALTER TABLE tokens ADD COLUMN certificate TEXT;
  ALTER TABLE tokens ADD COLUMN common_name TEXT; -- of what the certificate's CA issues; NULL: it is the client's own
    `,
  },
  {
    sql: `
  -- Tokens that there were: a document that was exported before does not bring them back.
  CREATE TABLE withdrawn_tokens (id TEXT PRIMARY KEY) STRICT;
  CREATE TRIGGER token_withdrawn AFTER DELETE ON tokens BEGIN
    INSERT OR IGNORE INTO withdrawn_tokens VALUES (old.id);
  END;
    `,
  },
];
