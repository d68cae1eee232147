// The tables of this domain.
import type { Migration } from '../../state/database.ts';

export const migrations: readonly Migration[] = [
  {
    sql: `
  CREATE TABLE factors (
    id TEXT PRIMARY KEY,
    user TEXT NOT NULL REFERENCES users (name) ON DELETE CASCADE,
    kind TEXT NOT NULL CHECK (kind IN ('app')),
    name TEXT NOT NULL,
    sealed_secret TEXT NOT NULL,     -- state/sealed.ts; belongs to 'factor', user, id
    created_at INTEGER NOT NULL,
    last_used_at INTEGER,
    last_step INTEGER NOT NULL       -- the step of the last code that was taken: none is taken twice
  ) STRICT;
  CREATE INDEX factors_by_user ON factors (user);

  -- hash: recovery-codes.ts.
  CREATE TABLE recovery_codes (
    user TEXT NOT NULL REFERENCES users (name) ON DELETE CASCADE,
    hash TEXT NOT NULL,
    used_at INTEGER,
    PRIMARY KEY (user, hash)
  ) STRICT;
    `,
  },
  {
    sql: `
  CREATE TABLE passkeys (
    id TEXT PRIMARY KEY,
    user TEXT NOT NULL REFERENCES users (name) ON DELETE CASCADE,
    name TEXT NOT NULL,
    host TEXT NOT NULL,              -- the host name for which it was made: WebAuthn's relying party
    credential_id TEXT NOT NULL UNIQUE,
    public_key TEXT NOT NULL,        -- base64 of a COSE key
    counter INTEGER NOT NULL,        -- how often it was used, if the authenticator counts
    transports_json TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER
  ) STRICT;
  CREATE INDEX passkeys_by_user ON passkeys (user);
    `,
  },
];
