// The steps that bring any older state to today's shape, in order. A step that was released is never edited.
// Times are milliseconds since the epoch; columns named *_json hold JSON.
export const migrations: readonly string[] = [
  `
  CREATE TABLE settings (key TEXT PRIMARY KEY, value_json TEXT NOT NULL) STRICT;

  CREATE TABLE users (
    name TEXT PRIMARY KEY,
    role TEXT NOT NULL CHECK (role IN ('administrator', 'operator', 'viewer')),
    password_hash TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_sign_in_at INTEGER
  ) STRICT;

  -- hash: SHA-256 of the cookie's value, so that a copy of this file signs nobody in.
  CREATE TABLE sessions (
    hash TEXT PRIMARY KEY,
    user TEXT REFERENCES users (name) ON DELETE CASCADE,  -- NULL: the set-up cookie
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE attempts (
    kind TEXT NOT NULL,
    account TEXT NOT NULL,
    address TEXT NOT NULL,
    failures INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    locked_until INTEGER NOT NULL,
    PRIMARY KEY (kind, account, address)
  ) STRICT;

  CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('writer', 'viewer', 'operator', 'administrator')),
    hash TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER
  ) STRICT;

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

  CREATE TABLE jobs (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    title TEXT NOT NULL,
    state TEXT NOT NULL,
    percent REAL,
    step TEXT,
    started_at INTEGER NOT NULL,
    finished_at INTEGER,
    error_json TEXT,
    result_json TEXT,
    log_json TEXT NOT NULL,
    cancellable INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE destinations (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    settings_json TEXT NOT NULL,  -- with its secrets: the file is readable by akd alone
    last_success_at INTEGER,
    last_error TEXT,
    failing_since INTEGER,
    created_at INTEGER NOT NULL
  ) STRICT;

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
    PRIMARY KEY (threshold_id, series_key)
  ) STRICT;

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
    page TEXT NOT NULL
  ) STRICT;
  -- The same trouble is never active twice.
  CREATE UNIQUE INDEX alerts_active ON alerts (dedup_key) WHERE state = 'active';
  CREATE INDEX alerts_dedup_key ON alerts (dedup_key);

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
    PRIMARY KEY (event_id, destination_id)
  ) STRICT;
  CREATE INDEX deliveries_alert ON deliveries (alert_id);
  CREATE INDEX deliveries_waiting ON deliveries (destination_id) WHERE state = 'waiting';
  `,
  `
  CREATE TABLE snapshot_schedules (
    id TEXT PRIMARY KEY,
    dataset TEXT NOT NULL,
    recursive INTEGER NOT NULL,
    schedule_json TEXT NOT NULL,
    keep_json TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    last_run_at INTEGER,               -- when it was last begun, whatever came of it
    last_error TEXT
  ) STRICT;
  `,
  `
  CREATE TABLE scrub_schedules (
    pool TEXT PRIMARY KEY,
    enabled INTEGER NOT NULL,
    schedule_json TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_run_at INTEGER
  ) STRICT;

  -- What each scan of a pool found: ZFS itself remembers only the last one.
  CREATE TABLE scans (
    pool TEXT NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    finished_at INTEGER,
    bytes INTEGER NOT NULL,
    repaired_bytes INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    PRIMARY KEY (pool, started_at)
  ) STRICT;
  `,
  `
  CREATE TABLE replications (
    id TEXT PRIMARY KEY,
    input_json TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_run_at INTEGER,               -- when it was last begun, whatever came of it
    last_error_json TEXT,
    last_bytes INTEGER NOT NULL DEFAULT 0,
    last_seconds REAL NOT NULL DEFAULT 0,
    done_snapshot TEXT,                -- has arrived; the next run goes on from it
    done_at INTEGER,                   -- when that one was taken
    pending_snapshot TEXT,             -- of a run that has not ended well yet
    pending_at INTEGER,
    retry_at INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0
  ) STRICT;

  CREATE TABLE replication_senders (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    public_key TEXT NOT NULL,
    under TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT;
  `,
  `
  CREATE TABLE worksheets (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    owner TEXT NOT NULL,               -- a user's or a token's name: what they made outlives them
    shared INTEGER NOT NULL,
    content_json TEXT NOT NULL,        -- charts, time range, annotations
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
  ) STRICT;
  `,
  `
  ALTER TABLE alerts ADD COLUMN acknowledged_at INTEGER;
  ALTER TABLE alerts ADD COLUMN acknowledged_by TEXT;
  ALTER TABLE alerts ADD COLUMN note TEXT;             -- what whoever acknowledged it wrote
  ALTER TABLE alerts ADD COLUMN routed_by TEXT;        -- in words: what decided who is told
  -- Destinations that were meant by whoever raised it, and the one that was not, for telling later.
  ALTER TABLE alerts ADD COLUMN only_json TEXT NOT NULL DEFAULT '[]';
  ALTER TABLE alerts ADD COLUMN except_id TEXT;
  ALTER TABLE alerts ADD COLUMN escalate_at INTEGER;   -- NULL: never, or done
  ALTER TABLE alerts ADD COLUMN escalate_to_json TEXT NOT NULL DEFAULT '[]';
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

  CREATE TABLE silences (
    id TEXT PRIMARY KEY,
    input_json TEXT NOT NULL,
    starts_at INTEGER NOT NULL,
    ends_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT;

  -- What a silence kept from being sent, until that is decided again at its end.
  CREATE TABLE held (
    alert_id TEXT NOT NULL,
    event TEXT NOT NULL,
    silence_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    released_at INTEGER
  ) STRICT;
  CREATE INDEX held_waiting ON held (alert_id) WHERE released_at IS NULL;
  CREATE INDEX held_silence ON held (silence_id);

  -- What was decided about a class of the catalogue; a class that is not here goes to every destination.
  CREATE TABLE class_routes (class TEXT PRIMARY KEY, route_json TEXT NOT NULL) STRICT;

  ALTER TABLE threshold_series ADD COLUMN no_data_alert_id TEXT;

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

  -- One message may carry many events: a burst of them, or a day's.
  ALTER TABLE deliveries ADD COLUMN message_id TEXT NOT NULL DEFAULT '';
  UPDATE deliveries SET message_id = event_id;
  CREATE INDEX deliveries_message ON deliveries (message_id, destination_id);

  -- As in outbox; told once a day.
  CREATE TABLE digest (
    event_id TEXT PRIMARY KEY,
    message_json TEXT NOT NULL,
    at INTEGER NOT NULL
  ) STRICT;
  `,
];
