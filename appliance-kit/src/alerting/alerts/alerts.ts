// Raising, repeating and clearing alerts. An alert, the message about it and who is to get it are written in one
// transaction: none of them can exist without the others.
//
//   raise ─▶ it is silenced? ─▶ suppressed, decided again when the silence ends
//            else ─▶ the destinations of the rule, of its class, or all ─▶ outbox + deliveries
//   not acknowledged when its time is up ─▶ also those it escalates to

import { type Clock, iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import { oneLine } from '../../base/words.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Database, Row } from '../../state/database.ts';
import { newId } from '../../state/id.ts';
import type { AlertClass, AnyAlertClass } from '../catalogue/alert-class.ts';
import type { Silences, Subject } from '../silences/index.ts';
import { conditionOf } from './filter.ts';
import { Groups } from './groups.ts';
import type { AlertFacts, Message, Recipient, Recipients } from './message.ts';
import { type Neighbours, neighbours } from './neighbours.ts';
import type { Routing } from './routing.ts';
import type { Alert, AlertHistory, AlertQuery, Delivery, DeliveryEvent, Escalation, HistoryKind } from './schema.ts';

export interface Raise<Args> {
  readonly kind: AlertClass<Args>;
  readonly args: Args;
  readonly ruleId?: string;
  readonly ruleName?: string;
  readonly value?: number;
  readonly limit?: number;
  /** Of both, as `bytes/s`. */
  readonly unit?: string;
  /** Ids of the destinations that get it; none: those of its class. */
  readonly only?: readonly string[];
  /** A destination that does not get it: it is what the alert is about. */
  readonly except?: string;
  /** Instead of what was decided about its class. */
  readonly escalation?: Escalation | null;
}

export interface AlertParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly changes: Changes;
  readonly hostName: () => string;
  readonly routing: Routing;
  readonly silences: Silences;
  /** Every class there is. */
  readonly classes: readonly AnyAlertClass[];
}

const MAX_TEXT = 4000;
/** Cleared alerts older than this are forgotten. */
const KEPT_MS = 400 * 24 * 60 * 60 * 1000;
const TIDY_MS = 60 * 60 * 1000;
/** What an export holds at most: the log of a year of a busy appliance. */
const MAX_EXPORTED = 100_000;

/** JSON knows no infinity; a limit that is beyond every number still is. */
function finite(value: number | undefined): number | null {
  if (value === undefined || Number.isNaN(value)) return null;
  return Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, value));
}

function factsFrom(row: Row): AlertFacts {
  return {
    id: row.id as string,
    groupId: row.group_id as string,
    class: row.class as string,
    title: row.title as string,
    text: row.text as string,
    severity: row.severity as Alert['severity'],
    state: row.state as Alert['state'],
    raisedAt: iso(row.raised_at as number),
    clearedAt: row.cleared_at === null ? null : iso(row.cleared_at as number),
    value: row.value as number | null,
    limit: row.limit as number | null,
    unit: row.unit as string,
    labels: JSON.parse(row.labels_json as string),
    ruleId: row.rule_id as string | null,
    ruleName: row.rule_name as string | null,
    noData: row.no_data === 1,
    impact: row.impact as string,
    response: row.response as string,
    action: row.action as string,
    page: row.page as string,
  };
}

function subjectOf(row: Row): Subject {
  return {
    class: row.class as string,
    severity: row.severity as Alert['severity'],
    key: row.dedup_key as string,
    title: row.title as string,
    labels: JSON.parse(row.labels_json as string),
  };
}

export class Alerts {
  readonly groups: Groups;
  readonly #parts: AlertParts;
  #tidiedAt = Number.NEGATIVE_INFINITY;
  #recipients: Recipients = { enabled: () => [], known: () => false };
  #written: () => void = () => {};
  #raised: (alert: AlertFacts) => void = () => {};
  #changed: (id: string, name: string, on: 'raise' | 'clear') => void = () => {};

  constructor(parts: AlertParts) {
    this.#parts = parts;
    this.groups = new Groups({
      ...parts,
      describe: (row) => this.#describe(row),
      holding: (row) => this.#parts.silences.holding(subjectOf(row)),
    });
  }

  /** Called once, by the destinations. */
  sendTo(recipients: Recipients): void {
    this.#recipients = recipients;
  }

  /** Called once: `written` is called after a message was written, to have it taken to the journal. */
  onWritten(written: () => void): void {
    this.#written = written;
  }

  /** Called once: `raised` is called of each alert that is new, in the transaction that writes it. */
  onRaised(raised: (alert: AlertFacts) => void): void {
    this.#raised = raised;
  }

  /** Called once: `changed` is called of each alert that is raised or cleared, in the transaction that writes it. */
  onChanged(changed: (id: string, name: string, on: 'raise' | 'clear') => void): void {
    this.#changed = changed;
  }

  /** The id of the alert, or null when none is sent: it is active already, another one explains it, or nobody wants it. */
  raise<Args>(request: Raise<Args>): string | null {
    const { db, clock, changes, routing } = this.#parts;
    const { kind, args } = request;
    if (kind.optional === true && !routing.isWanted(kind.class)) return null;
    const key = kind.dedupKey(args);
    const now = clock.now();
    const id = newId('al', now);
    const raised = db.transaction(() => {
      const active = this.activeByKey(key);
      if (active !== undefined) {
        this.#reword(active, kind.text(args).slice(0, MAX_TEXT));
        return false;
      }
      if (kind.transient && db.get('SELECT 1 FROM alerts WHERE dedup_key = ?', key) !== undefined) return false;
      if (kind.dependsOn(args).some((cause) => this.activeByKey(cause) !== undefined)) return false;
      const escalation = request.escalation ?? routing.escalation(kind.class);
      const escalates = escalation !== null && kind.transient !== true;
      const group = this.groups.join(kind.class, request.ruleId ?? null, now);
      db.run(
        `INSERT INTO alerts (id, class, dedup_key, title, text, severity, state, raised_at, cleared_at, value, "limit",
           unit, labels_json, rule_id, rule_name, impact, response, action, page, only_json, except_id, escalate_at,
           escalate_to_json, group_number, group_id)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        id,
        kind.class,
        key,
        oneLine(kind.title(args), 300),
        kind.text(args).slice(0, MAX_TEXT),
        kind.severity(args),
        kind.transient ? 'cleared' : 'active',
        now,
        kind.transient ? now : null,
        finite(request.value),
        finite(request.limit),
        request.unit ?? '',
        JSON.stringify(kind.labels(args)),
        request.ruleId ?? null,
        request.ruleName ?? null,
        kind.impact(args),
        kind.response(args),
        kind.action(args),
        kind.page(args),
        JSON.stringify(request.only ?? []),
        request.except ?? null,
        escalates ? now + escalation.afterSeconds * 1000 : null,
        JSON.stringify(escalates ? escalation.destinations : []),
        group.number,
        group.id,
      );
      const row = db.get('SELECT * FROM alerts WHERE id = ?', id) as Row;
      this.#tellOrHold(row, 'raise');
      this.#raised(factsFrom(row));
      this.#changed(id, kind.class, 'raise');
      return true;
    });
    if (!raised) return null;
    changes.publish('alerts', id);
    this.#written();
    return id;
  }

  /** What a condition says of itself while it lasts is kept up to date; nothing is sent again for that. */
  #reword(id: string, text: string): void {
    if (this.#parts.db.run('UPDATE alerts SET text = ? WHERE id = ? AND text <> ?', text, id, text) > 0)
      this.#parts.changes.publish('alerts', id);
  }

  /** Does nothing when it is not active. `text` says why, when it is not because all is well again. */
  clear(id: string, options: { value?: number; text?: string } = {}): void {
    const { db, clock, changes } = this.#parts;
    const cleared = db.transaction(() => {
      const changed = db.run(
        `UPDATE alerts SET state = 'cleared', cleared_at = ?, no_data = 0, value = coalesce(?, value),
           text = coalesce(?, text), escalate_at = NULL WHERE id = ? AND state = 'active'`,
        clock.now(),
        finite(options.value),
        options.text ?? null,
        id,
      );
      if (changed > 0) {
        const row = this.#row(id);
        this.#tellOrHold(row, 'clear');
        this.#changed(id, row.class as string, 'clear');
      }
      return changed > 0;
    });
    if (!cleared) return;
    changes.publish('alerts', id);
    this.#written();
  }

  /** Sends an alert again that is still active; not when it is acknowledged. */
  repost(id: string, value: number, text: string): void {
    const { db, changes } = this.#parts;
    db.transaction(() => {
      const sql = "UPDATE alerts SET value = ?, text = ? WHERE id = ? AND state = 'active'";
      if (db.run(sql, finite(value), text.slice(0, MAX_TEXT), id) === 0) return;
      const row = this.#row(id);
      if (row.acknowledged_at === null) this.#tellOrHold(row, 'repost');
    });
    changes.publish('alerts', id);
    this.#written();
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

  activeSubjects(): Subject[] {
    return this.#parts.db.all("SELECT * FROM alerts WHERE state = 'active'").map(subjectOf);
  }

  /** A user takes charge of it: it is not repeated and not escalated. */
  acknowledge(id: string, by: string, note: string): Alert {
    const { db, clock, changes } = this.#parts;
    const row = this.#row(id);
    if (row.state !== 'active') {
      throw fail('conflict', `The alert “${row.title}” has cleared: there is nothing to acknowledge.`);
    }
    db.transaction(() => {
      db.run(
        'UPDATE alerts SET acknowledged_at = ?, acknowledged_by = ?, note = ?, escalate_at = NULL WHERE id = ?',
        clock.now(),
        by,
        note,
        id,
      );
      this.#note(id, 'acknowledged', by, note === '' ? 'Acknowledged.' : `Acknowledged: ${note}`);
    });
    changes.publish('alerts', id);
    return this.get(id);
  }

  /** It is repeated again from now on; those that it would have escalated to are notified no later than otherwise. */
  withdraw(id: string, by: string): Alert {
    const { db, changes } = this.#parts;
    if (this.#row(id).acknowledged_at === null) throw fail('conflict', 'The alert is not acknowledged.');
    db.transaction(() => {
      db.run('UPDATE alerts SET acknowledged_at = NULL, acknowledged_by = NULL, note = NULL WHERE id = ?', id);
      this.#note(id, 'withdrawn', by, 'The acknowledgement was withdrawn.');
    });
    changes.publish('alerts', id);
    return this.get(id);
  }

  /** What is due by the clock: escalations, alerts of silences that have ended, forgetting. */
  tick(): void {
    const { db, clock } = this.#parts;
    const now = clock.now();
    let any = false;
    this.groups.settle();
    // The first time, whatever ended while akd was not running.
    const first = this.#tidiedAt === Number.NEGATIVE_INFINITY;
    if (this.#parts.silences.tick() || first) this.release();
    for (const row of db.all('SELECT * FROM alerts WHERE escalate_at <= ?', now)) {
      // Held back: it waits for the end of the silence.
      if (this.#parts.silences.holding(subjectOf(row)) !== null) continue;
      any = true;
      db.transaction(() => this.#escalate(row, now));
      this.#parts.changes.publish('alerts', row.id as string);
    }
    if (any) this.#written();
    if (now - this.#tidiedAt < TIDY_MS) return;
    this.#tidiedAt = now;
    db.transaction(() => {
      db.run('DELETE FROM deliveries WHERE at < ?', now - KEPT_MS);
      db.run('DELETE FROM alert_history WHERE at < ?', now - KEPT_MS);
      db.run("DELETE FROM alerts WHERE state = 'cleared' AND cleared_at < ?", now - KEPT_MS);
      this.groups.forget(now - KEPT_MS);
    });
  }

  #escalate(row: Row, now: number): void {
    const { db } = this.#parts;
    const id = row.id as string;
    const wanted = JSON.parse(row.escalate_to_json as string) as string[];
    const to = this.#recipients.enabled().filter((one) => wanted.includes(one.id) && one.id !== row.except_id);
    db.run('UPDATE alerts SET escalate_at = NULL WHERE id = ?', id);
    const whom =
      to.length === 0 ? 'no one: the destinations are removed or off' : to.map(({ name }) => name).join(', ');
    this.#note(id, 'escalated', null, `Not acknowledged in time: sent to ${whom}.`);
    this.#notify(row, 'escalate', now, to);
  }

  /** Decides again about everything that a silence has suppressed. */
  release(): void {
    const { db, clock } = this.#parts;
    const now = clock.now();
    let any = false;
    for (const { alert_id: id } of db.all('SELECT DISTINCT alert_id FROM held WHERE released_at IS NULL')) {
      const row = db.get('SELECT * FROM alerts WHERE id = ?', id as string);
      if (row !== undefined && this.#parts.silences.holding(subjectOf(row)) !== null) continue;
      db.transaction(() => {
        db.run('UPDATE held SET released_at = ? WHERE alert_id = ? AND released_at IS NULL', now, id as string);
        if (row === undefined) return;
        const sent = db.get('SELECT 1 FROM deliveries WHERE alert_id = ?', id as string) !== undefined;
        const active = row.state === 'active';
        if (active && !sent) {
          this.#note(id as string, 'released', null, 'The silence has ended and it is still active: it is sent now.');
          this.#send(row, 'raise');
        } else if (!active && sent && this.#isHeld(id as string, 'clear')) {
          this.#note(id as string, 'released', null, 'The silence has ended: the all-clear is sent now.');
          this.#send(row, 'clear');
        }
      });
      any = true;
      this.#parts.changes.publish('alerts', id as string);
    }
    if (any) this.#written();
  }

  #isHeld(id: string, event: DeliveryEvent): boolean {
    return this.#parts.db.get('SELECT 1 FROM held WHERE alert_id = ? AND event = ?', id, event) !== undefined;
  }

  #toldBefore(alertId: string): Recipient[] {
    const sent = this.#parts.db.all(
      "SELECT DISTINCT destination_id FROM deliveries WHERE alert_id = ? AND event IN ('raise', 'escalate')",
      alertId,
    );
    const ids = new Set(sent.map((row) => row.destination_id));
    return this.#recipients.enabled().filter((one) => ids.has(one.id));
  }

  #tellOrHold(row: Row, event: 'raise' | 'clear' | 'repost'): void {
    const { db, clock } = this.#parts;
    const id = row.id as string;
    const silence = this.#parts.silences.holding(subjectOf(row));
    if (silence === null) {
      this.#send(row, event);
      return;
    }
    db.run('INSERT INTO held VALUES (?, ?, ?, ?, NULL)', id, event, silence.id, clock.now());
    const what = { raise: 'It', clear: 'The all-clear', repost: 'The reminder' }[event];
    this.#note(
      id,
      'suppressed',
      null,
      `${what} was suppressed by the silence “${silence.name}”, until ${iso(silence.until)}.`,
    );
  }

  /** To whom it goes now. The first time that is decided by rule and class, later it is those that got it then. */
  #send(row: Row, event: 'raise' | 'clear' | 'repost'): void {
    const { db, clock, routing } = this.#parts;
    const id = row.id as string;
    if (event !== 'raise') {
      this.#notify(row, event, clock.now(), this.#toldBefore(id));
      return;
    }
    const { recipients, muted, by } = routing.audience({
      class: row.class as string,
      ruleName: row.rule_name as string | null,
      only: JSON.parse(row.only_json as string) as string[],
      except: row.except_id as string | null,
    });
    db.run('UPDATE alerts SET routed_by = ? WHERE id = ?', by, id);
    if (muted) {
      db.run('UPDATE alerts SET escalate_at = NULL WHERE id = ?', id);
      this.#note(id, 'muted', null, `${by}: it was not sent.`);
    }
    this.#notify(row, event, clock.now(), recipients);
  }

  #notify(row: Row, event: DeliveryEvent, now: number, to: readonly Recipient[]): void {
    if (to.length === 0) return;
    const { db } = this.#parts;
    const eventId = newId('ev', now);
    const message: Message = {
      version: 1,
      eventId,
      event,
      at: iso(now),
      hostName: this.#parts.hostName(),
      alert: factsFrom(row),
      ...(event !== 'raise' && this.#thread(row.id as string)),
    };
    db.run('INSERT INTO outbox VALUES (?, ?, ?)', eventId, JSON.stringify(message), now);
    for (const { id, name } of to) {
      db.run(
        `INSERT INTO deliveries (event_id, destination_id, destination_name, alert_id, event, state, at, message_id)
         VALUES (?, ?, ?, ?, ?, 'waiting', ?, ?)`,
        eventId,
        id,
        name,
        row.id as string,
        event,
        now,
        eventId,
      );
    }
  }

  /** The message that it was sent in together with others, if it was. */
  #thread(id: string): { thread: string; others: number } | null {
    const { db } = this.#parts;
    const row = db.get(
      "SELECT message_id FROM deliveries WHERE alert_id = ? AND event = 'raise' AND message_id != event_id LIMIT 1",
      id,
    );
    if (row === undefined) return null;
    const others = db.get(
      `SELECT count(DISTINCT alerts.id) AS n FROM deliveries JOIN alerts ON alerts.id = deliveries.alert_id
       WHERE message_id = ? AND alerts.state = 'active' AND alerts.id != ?`,
      ...[row.message_id as string, id],
    );
    return { thread: row.message_id as string, others: others?.n as number };
  }

  /** What else happened to it, for its page. */
  noteAction(id: string, text: string): void {
    this.#note(id, 'action', null, text);
    this.#parts.changes.publish('alerts', id);
  }

  #note(id: string, kind: HistoryKind, by: string | null, text: string): void {
    const sql = 'INSERT INTO alert_history VALUES (?, ?, ?, ?, ?)';
    this.#parts.db.run(sql, id, this.#parts.clock.now(), kind, by, text);
  }

  #describe(row: Row): Alert {
    const { db } = this.#parts;
    const id = row.id as string;
    const active = row.state === 'active';
    const silence = active ? this.#parts.silences.holding(subjectOf(row)) : null;
    const history = db.all('SELECT * FROM alert_history WHERE alert_id = ? ORDER BY rowid', id);
    const deliveries = db.all(
      `SELECT deliveries.*, destinations.last_error AS held_up FROM deliveries
       LEFT JOIN destinations ON destinations.id = destination_id AND failing_since IS NOT NULL
         AND deliveries.state = 'waiting' AND attempts = 0
       WHERE alert_id = ? ORDER BY deliveries.rowid`,
      id,
    );
    return {
      ...factsFrom(row),
      acknowledged:
        row.acknowledged_at === null
          ? null
          : {
              at: iso(row.acknowledged_at as number),
              by: row.acknowledged_by as string,
              note: row.note as string,
            },
      silence: silence && { id: silence.id, name: silence.name, until: iso(silence.until) },
      routedBy: row.routed_by as string | null,
      escalatesAt: row.escalate_at === null ? null : iso(row.escalate_at as number),
      history: history.map((one) => ({
        at: iso(one.at as number),
        kind: one.kind as AlertHistory['kind'],
        by: one.by as string | null,
        text: one.text as string,
      })),
      deliveries: deliveries.map((one) => ({
        destinationId: one.destination_id as string,
        destinationName: one.destination_name as string,
        event: one.event as DeliveryEvent,
        state: one.state as Delivery['state'],
        attempts: one.attempts as number,
        // What waits behind another was not tried, and there is a reason all the same.
        lastError:
          (one.last_error as string | null) ??
          (one.held_up === null ? null : `It waits behind an earlier one: ${one.held_up}`),
        at: iso(one.at as number),
        grouped: one.message_id !== one.event_id,
      })),
    };
  }

  #row(id: string): Row {
    const row = this.#parts.db.get('SELECT * FROM alerts WHERE id = ?', id);
    if (row === undefined) throw fail('not_found', `There is no alert ${id}.`);
    return row;
  }

  get(id: string): Alert {
    return this.#describe(this.#row(id));
  }

  /** Without who was sent it and what else happened to it. */
  facts(id: string): AlertFacts {
    return factsFrom(this.#row(id));
  }

  /** Those that were raised between two times, both included; in groups of a class or rule, the one with the first of them first. */
  around(from: number, to: number, except: string): Neighbours[] {
    return neighbours(this.#parts.db, from, to, except);
  }

  /** Without the rest, which takes a hundred times as long: for those who ask about thousands. */
  raisedAt(id: string): string {
    return iso(this.#row(id).raised_at as number);
  }

  list(query: AlertQuery): Alert[] {
    const { sql, values } = conditionOf(query);
    const before = query.before === undefined ? Number.MAX_SAFE_INTEGER : (this.#row(query.before).number as number);
    // By its order alone the whole log would be read for the few that are active: they have an index of their own.
    const number = (query.state ?? 'active') === 'active' ? '+number' : 'number';
    return this.#parts.db
      .all(
        `SELECT * FROM alerts WHERE ${sql} AND ${number} < ? ORDER BY ${number} DESC LIMIT ?`,
        ...[...values, before, query.limit ?? 100],
      )
      .map((row) => this.#describe(row));
  }

  /** The same, a page at a time, so that a long log never lies in memory as a whole. */
  *pages(query: Omit<AlertQuery, 'limit' | 'before'>): Generator<Alert[]> {
    let before: string | undefined;
    for (let total = 0; total < MAX_EXPORTED; ) {
      const page = this.list({ ...query, limit: 500, ...(before !== undefined && { before }) });
      if (page.length === 0) return;
      yield page;
      total += page.length;
      before = page.at(-1)?.id;
    }
  }

  counts(): Record<Alert['severity'], number> {
    const counts = { critical: 0, warning: 0, info: 0 };
    const sql = "SELECT severity, count(*) AS n FROM alerts WHERE state = 'active' GROUP BY severity";
    for (const row of this.#parts.db.all(sql)) counts[row.severity as Alert['severity']] = row.n as number;
    return counts;
  }
}
