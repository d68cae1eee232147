// The tables of this domain.
import type { Migration } from '../../state/database.ts';

export const migrations: readonly Migration[] = [
  {
    inFormat6: true,
    sql: `
  CREATE TABLE alerts (
    number INTEGER PRIMARY KEY AUTOINCREMENT,  -- the order they were raised in
    id TEXT NOT NULL UNIQUE,
    class TEXT NOT NULL,
    dedup_key TEXT NOT NULL,
    title TEXT NOT NULL,
    text TEXT NOT NULL,
    severity TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('active', 'cleared')),
    raised_at INTEGER NOT NULL,
    cleared_at INTEGER,
    value REAL,
    "limit" REAL,
    labels_json TEXT NOT NULL,
    rule_id TEXT,
    rule_name TEXT,
    no_data INTEGER NOT NULL DEFAULT 0,
    impact TEXT NOT NULL,
    response TEXT NOT NULL,
    action TEXT NOT NULL,
    page TEXT NOT NULL,
    acknowledged_at INTEGER,
    acknowledged_by TEXT,
    note TEXT,                           -- what whoever acknowledged it wrote
    routed_by TEXT,                      -- in words: what decided who is sent it
    -- Destinations that were meant by whoever raised it, and the one that was not, for sending later.
    only_json TEXT NOT NULL DEFAULT '[]',
    except_id TEXT,
    escalate_at INTEGER,                 -- NULL: never, or done
    escalate_to_json TEXT NOT NULL DEFAULT '[]'
  ) STRICT;
  -- The same trouble is never active twice.
  CREATE UNIQUE INDEX alerts_active ON alerts (dedup_key) WHERE state = 'active';
  CREATE INDEX alerts_dedup_key ON alerts (dedup_key);
  CREATE INDEX alerts_escalate ON alerts (escalate_at) WHERE escalate_at IS NOT NULL;

  -- What happened to an alert besides being raised, sent and cleared.
  CREATE TABLE alert_history (
    alert_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    by TEXT,
    text TEXT NOT NULL
  ) STRICT;
  CREATE INDEX alert_history_alert ON alert_history (alert_id);

  -- What was decided about a class of the catalogue; a class that is not here goes to every destination.
  CREATE TABLE class_routes (class TEXT PRIMARY KEY, route_json TEXT NOT NULL) STRICT;
    `,
  },
  {
    sql: `
  UPDATE alert_history SET kind = 'withdrawn' WHERE kind = 'taken_back';
  UPDATE alert_history SET kind = 'suppressed' WHERE kind = 'held';
    `,
  },
];
