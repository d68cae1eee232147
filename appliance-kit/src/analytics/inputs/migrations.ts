// The tables of this domain.
import type { Migration } from '../../state/database.ts';

export const migrations: readonly Migration[] = [
  {
    sql: `
  -- Addresses that have sent by an input, so that one that is new can be told from one that was only silent.
  CREATE TABLE known_senders (
    input TEXT NOT NULL,
    address TEXT NOT NULL,
    first_at INTEGER NOT NULL,
    dismissed INTEGER NOT NULL DEFAULT 0,  -- somebody has said that it is known
    PRIMARY KEY (input, address)
  ) STRICT;
  CREATE INDEX known_senders_first_at ON known_senders (first_at);
    `,
  },
];
