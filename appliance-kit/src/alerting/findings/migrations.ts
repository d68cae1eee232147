// The tables of this domain.
import type { Migration } from '../../state/database.ts';

export const migrations: readonly Migration[] = [
  {
    sql: `
  -- What was found around an alert, of a burst around its first alerts: the others name the first in of_id.
  CREATE TABLE alert_findings (
    number INTEGER PRIMARY KEY,         -- the order in which they were raised
    alert_id TEXT NOT NULL UNIQUE REFERENCES alerts (id) ON DELETE CASCADE,
    of_id TEXT REFERENCES alerts (id) ON DELETE SET NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'partial', 'complete')),
    due_at INTEGER,                     -- when it is looked for next; NULL: never again
    computed_at INTEGER,
    document_json TEXT
  ) STRICT;
  CREATE INDEX alert_findings_due ON alert_findings (due_at) WHERE due_at IS NOT NULL;
  CREATE INDEX alert_findings_of ON alert_findings (of_id) WHERE of_id IS NOT NULL;
    `,
  },
];
