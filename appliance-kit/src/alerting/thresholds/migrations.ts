// The tables of this domain.
import type { Migration } from '../../state/database.ts';

export const migrations: readonly Migration[] = [
  {
    inFormat6: true,
    sql: `
  CREATE TABLE thresholds (
    id TEXT PRIMARY KEY,
    rule_json TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT;

  -- One row for each series that is not simply ok, so that a restart neither repeats nor forgets.
  CREATE TABLE threshold_series (
    threshold_id TEXT NOT NULL REFERENCES thresholds (id) ON DELETE CASCADE,
    series_key TEXT NOT NULL,
    labels_json TEXT NOT NULL,
    state TEXT NOT NULL,
    since INTEGER NOT NULL,
    alert_id TEXT,
    last_sent_at INTEGER,
    no_data_alert_id TEXT,
    PRIMARY KEY (threshold_id, series_key)
  ) STRICT;
    `,
  },
  {
    sql: `
  UPDATE thresholds SET rule_json = json_set(rule_json, '$.form.kind', 'over-limit')
    WHERE json_extract(rule_json, '$.form.kind') = 'people';
    `,
  },
];
