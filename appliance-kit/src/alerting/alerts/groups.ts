// Alerts that were raised together: a burst of a rule is one thing, however many it has. A group takes alerts of its class and
// rule as long as each comes within a minute of the one before it, for an hour at most; later ones begin another. It keeps
// its id, and is there as long as one of its alerts is.

import { type Clock, iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Database, Row } from '../../state/database.ts';
import { newId } from '../../state/id.ts';
import type { AnyAlertClass } from '../catalogue/alert-class.ts';
import { conditionOf } from './filter.ts';
import type { AlertGroup, AlertGroupQuery, AlertSummary, GroupAlert, GroupAlertsQuery } from './groups-schema.ts';
import type { Alert } from './schema.ts';
import { groupTitle, type Shared, sharedBy, sharedWords } from './shared.ts';

const GAP_MS = 60_000;
const LONGEST_MS = 60 * 60_000;
/** So long after the last alert nothing is expected to join: what they share is worked out for good. */
const QUIET_MS = 15_000;
/** Of groups that still grow, so that a page that is open does not have it worked out again and again. */
const MOST_KNOWN = 100;
const SETTLED_AT_ONCE = 20;
const PAGE = 100;
const MEMBERS = 50;

type Labels = Readonly<Record<string, string>>;
/** The series that a rule is about now; null: not known. */
export type Population = (ruleId: string) => readonly Labels[] | null;

export interface GroupParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly changes: Changes;
  readonly classes: readonly AnyAlertClass[];
  readonly describe: (row: Row) => Alert;
  readonly holding: (row: Row) => { id: string; name: string; until: number } | null;
}

const RANK = "CASE severity WHEN 'critical' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END";
const severities = ['critical', 'warning', 'info'] as const;

export class Groups {
  readonly #parts: GroupParts;
  readonly #suffixes: ReadonlyMap<string, string>;
  /** By id: with how many alerts it was worked out. */
  readonly #shared = new Map<string, { total: number; shared: Shared }>();
  #summary: AlertSummary | null = null;
  #population: Population = () => null;

  constructor(parts: GroupParts) {
    this.#parts = parts;
    this.#suffixes = new Map(parts.classes.map((kind) => [kind.class, kind.together ?? '']));
    parts.changes.listen(({ topic }) => {
      if (topic === 'alerts' || topic === 'silences') this.#summary = null;
    });
  }

  /** Called once, by whoever knows which series a rule is about. */
  ofPopulation(population: Population): void {
    this.#population = population;
  }

  /** The group that an alert which is raised now belongs to. Inside a transaction. */
  join(name: string, ruleId: string | null, now: number): { id: string; number: number } {
    const { db } = this.#parts;
    const open = db.get(
      `SELECT number, id FROM alert_groups WHERE class = ? AND rule_id IS ? AND last_at BETWEEN ? AND ? AND first_at >= ?
       ORDER BY number DESC LIMIT 1`,
      ...[name, ruleId, now - GAP_MS, now + GAP_MS, now - LONGEST_MS],
    );
    if (open !== undefined) {
      db.run('UPDATE alert_groups SET last_at = ?, shared_json = NULL WHERE number = ?', now, open.number as number);
      return { id: open.id as string, number: open.number as number };
    }
    const id = newId('bu', now);
    db.run(
      'INSERT INTO alert_groups (id, class, rule_id, first_at, last_at) VALUES (?, ?, ?, ?, ?)',
      ...[id, name, ruleId, now, now],
    );
    return { id, number: db.get('SELECT number FROM alert_groups WHERE id = ?', id)?.number as number };
  }

  /** Those of whose alerts none is left. */
  forget(before: number): void {
    this.#parts.db.run(
      `DELETE FROM alert_groups WHERE last_at < ?
       AND NOT EXISTS (SELECT 1 FROM alerts WHERE group_number = alert_groups.number)`,
      before,
    );
  }

  /** Keeps what groups share that have become quiet: the series that were well then may be gone later. */
  settle(): void {
    const { db, clock } = this.#parts;
    const due = db.all(
      'SELECT * FROM alert_groups WHERE shared_json IS NULL AND last_at < ? LIMIT ?',
      ...[clock.now() - QUIET_MS, SETTLED_AT_ONCE],
    );
    if (due.length === 0) return;
    db.transaction(() => {
      for (const group of due) {
        const shared = this.#work(group);
        db.run(
          'UPDATE alert_groups SET shared_json = ? WHERE number = ?',
          JSON.stringify(shared),
          group.number as number,
        );
      }
    });
  }

  #work(group: Row): Shared {
    const members = this.#parts.db
      .all('SELECT labels_json FROM alerts WHERE group_number = ?', group.number as number)
      .map((row) => JSON.parse(row.labels_json as string) as Labels);
    return this.sharedBy(members, group.rule_id as string | null);
  }

  /** What some alerts have in common. */
  sharedBy(members: readonly Labels[], ruleId: string | null): Shared {
    return sharedBy(members, ruleId === null || members.length < 2 ? null : this.#population(ruleId));
  }

  /** As pages, messages and the API say it. */
  titleOf(about: {
    class: string;
    ruleName: string | null;
    firstTitle: string;
    count: number;
    series: number;
    of: number | null;
  }): string {
    return groupTitle({ ...about, suffix: this.#suffixes.get(about.class) ?? '' });
  }

  #sharedOf(group: Row, total: number): Shared {
    if (group.shared_json !== null) return JSON.parse(group.shared_json as string) as Shared;
    const id = group.id as string;
    const known = this.#shared.get(id);
    if (known?.total === total) return known.shared;
    const shared = this.#work(group);
    this.#shared.delete(id);
    this.#shared.set(id, { total, shared });
    for (const oldest of [...this.#shared.keys()].slice(0, -MOST_KNOWN)) this.#shared.delete(oldest);
    return shared;
  }

  #row(id: string): Row {
    const row = this.#parts.db.get('SELECT * FROM alert_groups WHERE id = ?', id);
    if (row === undefined) throw fail('not_found', `There is no group of alerts ${id}.`);
    return row;
  }

  #describe(group: Row, matching: number | null): AlertGroup {
    const { db, describe, holding } = this.#parts;
    const number = group.number as number;
    const sql = (condition: string) =>
      `SELECT * FROM alerts WHERE group_number = ? ${condition} ORDER BY number LIMIT 1`;
    const first = db.get(sql(''), number) as Row;
    const firstActive = db.get(sql("AND state = 'active'"), number);
    const counts = { active: 0, acknowledged: 0, cleared: 0 };
    const worst = { active: 2, cleared: 2 };
    let clearedAt = 0;
    for (const row of db.all(
      `SELECT state, ${RANK} AS rank, count(*) AS n, count(acknowledged_at) AS acknowledged, max(cleared_at) AS cleared_at
       FROM alerts WHERE group_number = ? GROUP BY state, severity`,
      number,
    )) {
      const state = row.state as 'active' | 'cleared';
      counts[state] += row.n as number;
      if (state === 'active') counts.acknowledged += row.acknowledged as number;
      worst[state] = Math.min(worst[state], row.rank as number);
      clearedAt = Math.max(clearedAt, (row.cleared_at as number | null) ?? 0);
    }
    const total = counts.active + counts.cleared;
    const shared = this.#sharedOf(group, total);
    const silence = firstActive === undefined ? null : holding(firstActive);
    const active = counts.active > 0;
    const ruleName = first.rule_name as string | null;
    const about = { class: group.class as string, ruleName, firstTitle: first.title as string };
    return {
      id: group.id as string,
      class: group.class as string,
      ruleId: group.rule_id as string | null,
      ruleName,
      title: this.titleOf({ ...about, count: total, series: shared.series, of: shared.of }),
      text: total === 1 ? (first.text as string) : sharedWords(shared, total),
      severity: severities[active ? worst.active : worst.cleared] ?? 'info',
      state: active ? 'active' : 'cleared',
      firstAt: iso(group.first_at as number),
      lastAt: iso(group.last_at as number),
      clearedAt: active ? null : iso(clearedAt),
      total,
      ...counts,
      matching: matching ?? total,
      of: shared.of,
      common: shared.common,
      apart: shared.apart,
      silence: silence && { id: silence.id, name: silence.name, until: iso(silence.until) },
      impact: first.impact as string,
      response: first.response as string,
      action: first.action as string,
      page: first.page as string,
      firstId: first.id as string,
      alert: total === 1 ? describe(first) : null,
    };
  }

  get(id: string): AlertGroup {
    return this.#describe(this.#row(id), null);
  }

  list(query: AlertGroupQuery): AlertGroup[] {
    const { db } = this.#parts;
    const { sql, values } = conditionOf(query);
    const before = query.before === undefined ? Number.MAX_SAFE_INTEGER : (this.#row(query.before).number as number);
    return db
      .all(
        `SELECT group_number, count(*) AS n FROM alerts WHERE ${sql} AND group_number < ?
         GROUP BY group_number ORDER BY group_number DESC LIMIT ?`,
        ...[...values, before, query.limit ?? PAGE],
      )
      .map((row) => this.#describe(this.#numbered(row.group_number as number), row.n as number));
  }

  #numbered(number: number): Row {
    return this.#parts.db.get('SELECT * FROM alert_groups WHERE number = ?', number) as Row;
  }

  /** Active ones before the others, the worst of these first. */
  members(id: string, query: GroupAlertsQuery): { items: GroupAlert[]; total: number } {
    const { db } = this.#parts;
    const { state = 'all', search, limit = MEMBERS, offset = 0 } = query;
    const { sql, values } = conditionOf({ state, ...(search !== undefined && { search }) });
    const number = this.#row(id).number as number;
    const rows = db.all(
      `SELECT * FROM alerts WHERE group_number = ? AND ${sql}
       ORDER BY state = 'cleared', ${RANK}, number LIMIT ? OFFSET ?`,
      ...[number, ...values, limit, offset],
    );
    const total = db.get(`SELECT count(*) AS n FROM alerts WHERE group_number = ? AND ${sql}`, number, ...values);
    const items = rows.map((row) => ({
      id: row.id as string,
      title: row.title as string,
      text: row.text as string,
      severity: row.severity as Alert['severity'],
      state: row.state as Alert['state'],
      raisedAt: iso(row.raised_at as number),
      clearedAt: row.cleared_at === null ? null : iso(row.cleared_at as number),
      value: row.value as number | null,
      labels: JSON.parse(row.labels_json as string) as Record<string, string>,
      noData: row.no_data === 1,
      acknowledgedBy: row.acknowledged_by as string | null,
      unit: row.unit as string,
    }));
    return { items, total: total?.n as number };
  }

  summary(): AlertSummary {
    this.#summary ??= this.#summarize();
    return this.#summary;
  }

  #summarize(): AlertSummary {
    const { db } = this.#parts;
    const counts = { critical: 0, warning: 0, info: 0, acknowledged: 0 };
    const groups = new Map<number, number>();
    for (const row of db.all(
      `SELECT group_number, severity, ${RANK} AS rank, count(*) AS n, count(acknowledged_at) AS acknowledged
       FROM alerts WHERE state = 'active' GROUP BY group_number, severity`,
    )) {
      counts[row.severity as Alert['severity']] += row.n as number;
      counts.acknowledged += row.acknowledged as number;
      const number = row.group_number as number;
      groups.set(number, Math.min(groups.get(number) ?? 2, row.rank as number));
    }
    const worst = [...groups].sort(([a, left], [b, right]) => left - right || b - a).slice(0, 3);
    return {
      ...counts,
      groups: groups.size,
      worst: worst.map(([number]) => this.#describe(this.#numbered(number), null)),
    };
  }

  /** Those active ones that nobody has acknowledged. What was acknowledged before stays as it was. */
  acknowledge(id: string, by: string, note: string): AlertGroup {
    const open = "group_number = ? AND state = 'active' AND acknowledged_at IS NULL";
    this.#act(id, 'acknowledged', open, by, note === '' ? 'Acknowledged.' : `Acknowledged: ${note}`, (number, now) =>
      this.#parts.db.run(
        `UPDATE alerts SET acknowledged_at = ?, acknowledged_by = ?, note = ?, escalate_at = NULL WHERE ${open}`,
        ...[now, by, note, number],
      ),
    );
    return this.get(id);
  }

  withdraw(id: string, by: string): AlertGroup {
    const taken = "group_number = ? AND state = 'active' AND acknowledged_at IS NOT NULL";
    this.#act(id, 'withdrawn', taken, by, 'The acknowledgement was withdrawn.', (number) =>
      this.#parts.db.run(
        `UPDATE alerts SET acknowledged_at = NULL, acknowledged_by = NULL, note = NULL WHERE ${taken}`,
        number,
      ),
    );
    return this.get(id);
  }

  #act(
    id: string,
    kind: 'acknowledged' | 'withdrawn',
    which: string,
    by: string,
    text: string,
    change: (number: number, now: number) => void,
  ): void {
    const { db, clock, changes } = this.#parts;
    const number = this.#row(id).number as number;
    const now = clock.now();
    db.transaction(() => {
      const noted = db.run(
        `INSERT INTO alert_history SELECT id, ?, ?, ?, ? FROM alerts WHERE ${which}`,
        ...[now, kind, by, text, number],
      );
      if (noted === 0) {
        const what = kind === 'acknowledged' ? 'that nobody has acknowledged' : 'that is acknowledged';
        throw fail('conflict', `No alert of the group is active ${what}.`);
      }
      change(number, now);
    });
    changes.publish('alerts');
  }

  /** What a silence matches that is for a group: its rule, else the label that tells it best, else its class. */
  silenceOf(id: string): { classes: string[]; text: string } {
    const group = this.get(id);
    const [label] = [...group.apart.map((one) => [one.label, one.value] as const), ...Object.entries(group.common)];
    return { classes: [group.class], text: group.ruleId ?? (label === undefined ? '' : label.join('=').slice(0, 200)) };
  }
}
