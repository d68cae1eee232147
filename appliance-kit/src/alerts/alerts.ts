// Raising, repeating and clearing alerts. An alert, the message about it and who is to get it are written in one
// transaction: none of them can exist without the others.
import { type Clock, iso } from '../clock.ts';
import type { Changes } from '../events/changes.ts';
import type { Handlers } from '../handlers.ts';
import { fail } from '../problems/problem.ts';
import { oneLine } from '../schema/words.ts';
import type { Database, Row } from '../state/database.ts';
import { newId } from '../state/id.ts';
import type { AlertClass } from './catalogue.ts';
import type { Alert, Delivery, DeliveryEvent } from './schema.ts';

/** What the journal holds, and a destination is told. It says all there is to say, whatever changes meanwhile. */
export interface Message {
  readonly version: 1;
  readonly eventId: string;
  readonly event: DeliveryEvent;
  readonly at: string;
  readonly hostName: string;
  readonly alert: Omit<Alert, 'deliveries'>;
}

export interface Recipient {
  readonly id: string;
  readonly name: string;
}

export interface Raise<Args> {
  readonly kind: AlertClass<Args>;
  readonly args: Args;
  readonly ruleId?: string;
  readonly ruleName?: string;
  readonly value?: number;
  readonly limit?: number;
  /** Ids of the destinations that are told; none: all. */
  readonly only?: readonly string[];
  /** A destination that is not told: it is what the alert is about. */
  readonly except?: string;
}

export interface AlertParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly changes: Changes;
  readonly hostName: () => string;
  /** The destinations that are switched on. */
  readonly recipients: () => Recipient[];
  /** Called after a message was written, to have it taken to the journal. */
  readonly written: () => void;
}

const MAX_TEXT = 4000;
/** Cleared alerts older than this are forgotten. */
const KEPT_MS = 400 * 24 * 60 * 60 * 1000;

/** JSON knows no infinity; a limit that is beyond every number still is. */
function finite(value: number | undefined): number | null {
  if (value === undefined || Number.isNaN(value)) return null;
  return Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, value));
}

function fromRow(row: Row, deliveries: Delivery[]): Alert {
  return {
    id: row.id as string,
    class: row.class as string,
    title: row.title as string,
    text: row.text as string,
    severity: row.severity as Alert['severity'],
    state: row.state as Alert['state'],
    raisedAt: iso(row.raised_at as number),
    clearedAt: row.cleared_at === null ? null : iso(row.cleared_at as number),
    value: row.value as number | null,
    limit: row.limit as number | null,
    labels: JSON.parse(row.labels_json as string),
    ruleId: row.rule_id as string | null,
    ruleName: row.rule_name as string | null,
    noData: row.no_data === 1,
    impact: row.impact as string,
    response: row.response as string,
    action: row.action as string,
    page: row.page as string,
    deliveries,
  };
}

export class Alerts {
  readonly #parts: AlertParts;

  constructor(parts: AlertParts) {
    this.#parts = parts;
  }

  /** The id of the alert, or null when nobody is to be told: it is active already, or another alert explains it. */
  raise<Args>(request: Raise<Args>): string | null {
    const { db, clock, changes } = this.#parts;
    const { kind, args } = request;
    const key = kind.dedupKey(args);
    const now = clock.now();
    const id = newId('al', now);
    const raised = db.transaction(() => {
      if (this.activeByKey(key) !== undefined) return false;
      if (kind.happening && db.get('SELECT 1 FROM alerts WHERE dedup_key = ?', key) !== undefined) return false;
      if (kind.dependsOn(args).some((cause) => this.activeByKey(cause) !== undefined)) return false;
      db.run('DELETE FROM deliveries WHERE at < ?', now - KEPT_MS);
      db.run("DELETE FROM alerts WHERE state = 'cleared' AND cleared_at < ?", now - KEPT_MS);
      db.run(
        `INSERT INTO alerts (id, class, dedup_key, title, text, severity, state, raised_at, cleared_at, value, "limit",
           labels_json, rule_id, rule_name, impact, response, action, page)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        id,
        kind.class,
        key,
        oneLine(kind.title(args), 300),
        kind.text(args).slice(0, MAX_TEXT),
        kind.severity(args),
        kind.happening ? 'cleared' : 'active',
        now,
        kind.happening ? now : null,
        finite(request.value),
        finite(request.limit),
        JSON.stringify(kind.labels(args)),
        request.ruleId ?? null,
        request.ruleName ?? null,
        kind.impact(args),
        kind.response(args),
        kind.action(args),
        kind.page(args),
      );
      const to = this.#parts
        .recipients()
        .filter((one) => one.id !== request.except && (!request.only?.length || request.only.includes(one.id)));
      this.#tell(id, 'raise', now, to);
      return true;
    });
    if (!raised) return null;
    changes.publish('alerts', id);
    this.#parts.written();
    return id;
  }

  /** Does nothing when it is not active. `text` says why, when it is not because all is well again. */
  clear(id: string, options: { value?: number; text?: string } = {}): void {
    const { db, clock, changes } = this.#parts;
    const now = clock.now();
    const cleared = db.transaction(() => {
      const changed = db.run(
        `UPDATE alerts SET state = 'cleared', cleared_at = ?, no_data = 0, value = coalesce(?, value),
           text = coalesce(?, text) WHERE id = ? AND state = 'active'`,
        now,
        finite(options.value),
        options.text ?? null,
        id,
      );
      if (changed > 0) this.#tell(id, 'clear', now, this.#toldBefore(id));
      return changed > 0;
    });
    if (!cleared) return;
    changes.publish('alerts', id);
    this.#parts.written();
  }

  /** Tells again, of an alert that is still active. */
  repost(id: string, value: number, text: string): void {
    const { db, clock, changes } = this.#parts;
    db.transaction(() => {
      const sql = "UPDATE alerts SET value = ?, text = ? WHERE id = ? AND state = 'active'";
      if (db.run(sql, finite(value), text.slice(0, MAX_TEXT), id) > 0) {
        this.#tell(id, 'repost', clock.now(), this.#toldBefore(id));
      }
    });
    changes.publish('alerts', id);
    this.#parts.written();
  }

  setNoData(id: string, noData: boolean): void {
    const sql = 'UPDATE alerts SET no_data = ? WHERE id = ? AND no_data != ?';
    if (this.#parts.db.run(sql, noData ? 1 : 0, id, noData ? 1 : 0) > 0) this.#parts.changes.publish('alerts', id);
  }

  activeByKey(key: string): string | undefined {
    const row = this.#parts.db.get("SELECT id FROM alerts WHERE dedup_key = ? AND state = 'active'", key);
    return row?.id as string | undefined;
  }

  activeOfClass(name: string): { id: string; key: string }[] {
    return this.#parts.db
      .all("SELECT id, dedup_key FROM alerts WHERE class = ? AND state = 'active'", name)
      .map((row) => ({ id: row.id as string, key: row.dedup_key as string }));
  }

  #toldBefore(alertId: string): Recipient[] {
    const told = this.#parts.db.all(
      "SELECT destination_id FROM deliveries WHERE alert_id = ? AND event = 'raise'",
      alertId,
    );
    const ids = new Set(told.map((row) => row.destination_id));
    return this.#parts.recipients().filter((one) => ids.has(one.id));
  }

  #tell(alertId: string, event: DeliveryEvent, now: number, to: readonly Recipient[]): void {
    if (to.length === 0) return;
    const { db } = this.#parts;
    const eventId = newId('ev', now);
    const row = db.get('SELECT * FROM alerts WHERE id = ?', alertId) as Row;
    const { deliveries: _, ...alert } = fromRow(row, []);
    const message: Message = { version: 1, eventId, event, at: iso(now), hostName: this.#parts.hostName(), alert };
    db.run('INSERT INTO outbox VALUES (?, ?, ?)', eventId, JSON.stringify(message), now);
    for (const { id, name } of to) {
      db.run(
        `INSERT INTO deliveries (event_id, destination_id, destination_name, alert_id, event, state, at)
         VALUES (?, ?, ?, ?, ?, 'waiting', ?)`,
        eventId,
        id,
        name,
        alertId,
        event,
        now,
      );
    }
  }

  #deliveries(alertId: string): Delivery[] {
    const sql = 'SELECT * FROM deliveries WHERE alert_id = ? ORDER BY rowid';
    return this.#parts.db.all(sql, alertId).map((row) => ({
      destinationId: row.destination_id as string,
      destinationName: row.destination_name as string,
      event: row.event as DeliveryEvent,
      state: row.state as Delivery['state'],
      attempts: row.attempts as number,
      lastError: row.last_error as string | null,
      at: iso(row.at as number),
    }));
  }

  get(id: string): Alert {
    const row = this.#parts.db.get('SELECT * FROM alerts WHERE id = ?', id);
    if (row === undefined) throw fail('not_found', `There is no alert ${id}.`);
    return fromRow(row, this.#deliveries(id));
  }

  list(options: { state: 'active' | 'all'; limit: number; before?: string }): Alert[] {
    const { db } = this.#parts;
    let before = Number.MAX_SAFE_INTEGER;
    if (options.before !== undefined) {
      const row = db.get('SELECT number FROM alerts WHERE id = ?', options.before);
      if (row === undefined) throw fail('not_found', `There is no alert ${options.before}.`);
      before = row.number as number;
    }
    return db
      .all(
        "SELECT * FROM alerts WHERE number < ? AND (? = 'all' OR state = 'active') ORDER BY number DESC LIMIT ?",
        before,
        options.state,
        options.limit,
      )
      .map((row) => fromRow(row, this.#deliveries(row.id as string)));
  }

  counts(): Record<Alert['severity'], number> {
    const counts = { critical: 0, warning: 0, info: 0 };
    const sql = "SELECT severity, count(*) AS n FROM alerts WHERE state = 'active' GROUP BY severity";
    for (const row of this.#parts.db.all(sql)) counts[row.severity as Alert['severity']] = row.n as number;
    return counts;
  }

  /** The worst and oldest of the active ones, for the status page. */
  worst(): Alert | undefined {
    const row = this.#parts.db.get(
      `SELECT * FROM alerts WHERE state = 'active'
       ORDER BY CASE severity WHEN 'critical' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, number LIMIT 1`,
    );
    return row && fromRow(row, []);
  }
}

export function alertRoutes(alerts: Alerts): Handlers<'listAlerts' | 'getAlert'> {
  return {
    listAlerts: ({ query }) => ({
      items: alerts.list({ state: query.state ?? 'active', limit: query.limit ?? 100, before: query.before }),
    }),
    getAlert: ({ params }) => alerts.get(params.id),
  };
}
