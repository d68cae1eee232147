// The tables of this domain.
import type { Migration } from '../../state/database.ts';

export const migrations: readonly Migration[] = [
  {
    inFormat6: true,
    sql: `
  CREATE TABLE audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    time INTEGER NOT NULL,
    user TEXT NOT NULL,
    address TEXT NOT NULL,
    action TEXT NOT NULL,
    target TEXT NOT NULL,
    before_json TEXT,
    after_json TEXT
  ) STRICT;
    `,
  },
];
