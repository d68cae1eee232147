// The tables of this domain.
import type { Migration } from '../../state/database.ts';

export const migrations: readonly Migration[] = [
  {
    inFormat6: true,
    sql: `
  -- What a rule does besides telling somebody: written with the alert, done after it, at least once.
  CREATE TABLE alert_actions (
    id TEXT PRIMARY KEY,
    alert_id TEXT NOT NULL,
    action_json TEXT NOT NULL,
    due_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    done_at INTEGER
  ) STRICT;
  CREATE INDEX alert_actions_due ON alert_actions (due_at) WHERE done_at IS NULL;
    `,
  },
];
