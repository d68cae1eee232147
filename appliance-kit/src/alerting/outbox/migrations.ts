// The tables of this domain.
import type { Migration } from '../../state/database.ts';

export const migrations: readonly Migration[] = [
  {
    inFormat6: true,
    sql: `
  -- What has to be told and is not in the journal yet. Written together with the alert and removed once the journal
  -- has it; a crash between the two appends it again, and deliveries are counted by event id.
  CREATE TABLE outbox (
    event_id TEXT PRIMARY KEY,
    message_json TEXT NOT NULL,
    at INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE deliveries (
    event_id TEXT NOT NULL,
    destination_id TEXT NOT NULL,
    destination_name TEXT NOT NULL,
    alert_id TEXT NOT NULL,
    event TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'delivered', 'failed')),
    attempts INTEGER NOT NULL DEFAULT 0,
    last_error TEXT,
    at INTEGER NOT NULL,
    -- One message may carry many events: a burst of them, or a day's.
    message_id TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (event_id, destination_id)
  ) STRICT;
  CREATE INDEX deliveries_alert ON deliveries (alert_id);
  CREATE INDEX deliveries_waiting ON deliveries (destination_id) WHERE state = 'waiting';
  CREATE INDEX deliveries_message ON deliveries (message_id, destination_id);

  -- As in outbox; told once a day.
  CREATE TABLE digest (
    event_id TEXT PRIMARY KEY,
    message_json TEXT NOT NULL,
    at INTEGER NOT NULL
  ) STRICT;
    `,
  },
];
