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
  {
    sql: `
  CREATE INDEX alerts_raised_at ON alerts (raised_at);
    `,
  },
  {
    sql: `
  ALTER TABLE alerts ADD COLUMN unit TEXT NOT NULL DEFAULT '';  -- of value and limit
    `,
  },
  {
    sql: `
  -- Alerts of one class, of thresholds of one rule, that were raised together.
  CREATE TABLE alert_groups (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    class TEXT NOT NULL,
    rule_id TEXT,
    first_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    shared_json TEXT                     -- what they have in common, as it was when the last of them had come
  ) STRICT;
  CREATE INDEX alert_groups_open ON alert_groups (class, rule_id, last_at);
  CREATE INDEX alert_groups_unsettled ON alert_groups (last_at) WHERE shared_json IS NULL;
  -- What was raised before there were groups is alone in its own.
  INSERT INTO alert_groups (number, id, class, rule_id, first_at, last_at)
    SELECT number, 'bu' || substr(id, 3), class, rule_id, raised_at, raised_at FROM alerts;
  ALTER TABLE alerts ADD COLUMN group_number INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE alerts ADD COLUMN group_id TEXT NOT NULL DEFAULT '';
  UPDATE alerts SET group_number = number, group_id = 'bu' || substr(id, 3);
  CREATE INDEX alerts_group ON alerts (group_number, state, severity, acknowledged_at, cleared_at);
    `,
  },
];
