// The rules, and their evaluation: every few seconds each rule's expression is asked of the telemetry store, and each
// series it gives goes one step through the state machine.

import type { Alerts } from '../alerts/alerts.ts';
import { labelWords, type ThresholdArgs, thresholdExceeded } from '../alerts/catalogue.ts';
import { type Clock, iso } from '../clock.ts';
import type { Changes } from '../events/changes.ts';
import type { Log } from '../log.ts';
import { ExpressionError, type Sample, type Storaged } from '../peers/storaged.ts';
import { asProblem, fail } from '../problems/problem.ts';
import type { Database } from '../state/database.ts';
import { newId } from '../state/id.ts';
import { afterGap, initial, limitsProblem, type SeriesRecord, step, wouldBe } from './machine.ts';
import type { SeriesState, Threshold, ThresholdInput, ThresholdPreview, ThresholdSeries } from './schema.ts';

/** More series than this under one rule is a mistake in the rule; it would drown every destination. */
const MOST_SERIES = 10_000;
/** Rules that are evaluated at the same time: the store answers others meanwhile. */
const AT_ONCE = 4;
/** A series that is gone and was fine is forgotten after this. */
const FORGET_MS = 60 * 60 * 1000;
/** How many series a page is shown; those that matter first. */
const SHOWN_SERIES = 500;

interface Series {
  readonly labels: Record<string, string>;
  record: SeriesRecord;
  alertId: string | null;
  value: number | null;
}

interface Rule {
  readonly id: string;
  readonly createdAt: number;
  input: ThresholdInput;
  evaluatedAt: number | null;
  error: string | null;
  readonly series: Map<string, Series>;
}

/** The same labels in any order are the same series. */
export function seriesKey(labels: Record<string, string>): string {
  return JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
}

const finite = (value: number | null) =>
  value === null || Number.isNaN(value) ? null : Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, value));

export interface ThresholdParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly changes: Changes;
  readonly alerts: Alerts;
  readonly storaged: Pick<Storaged, 'query'>;
  readonly log: Log;
  /** How often `evaluate` is called, to know a gap when there is one. */
  readonly intervalMs: number;
}

export class Thresholds {
  readonly #parts: ThresholdParts;
  readonly #rules = new Map<string, Rule>();
  #evaluating: Promise<void> | null = null;

  constructor(parts: ThresholdParts) {
    this.#parts = parts;
    this.#load();
  }

  #load(): void {
    const { db } = this.#parts;
    for (const row of db.all('SELECT * FROM thresholds ORDER BY rowid')) {
      const series = new Map<string, Series>();
      for (const one of db.all('SELECT * FROM threshold_series WHERE threshold_id = ?', row.id as string)) {
        const record: SeriesRecord = {
          state: one.state as SeriesState,
          since: one.since as number,
          alerted: one.alert_id !== null,
          lastSentAt: one.last_sent_at as number | null,
        };
        const labels = JSON.parse(one.labels_json as string);
        series.set(one.series_key as string, { labels, record, alertId: one.alert_id as string | null, value: null });
      }
      this.#rules.set(row.id as string, {
        id: row.id as string,
        createdAt: row.created_at as number,
        input: JSON.parse(row.rule_json as string),
        evaluatedAt: null,
        error: null,
        series,
      });
    }
  }

  list(): Threshold[] {
    return [...this.#rules.values()].map((rule) => this.#describe(rule));
  }

  get(id: string): Threshold {
    return this.#describe(this.#rule(id));
  }

  #rule(id: string): Rule {
    const rule = this.#rules.get(id);
    if (rule === undefined) throw fail('not_found', `There is no threshold ${id}.`);
    return rule;
  }

  #describe(rule: Rule): Threshold {
    const rank: Record<SeriesState, number> = { active: 0, clearing: 1, raising: 2, no_data: 3, ok: 4 };
    const series: ThresholdSeries[] = [...rule.series.values()]
      .sort((a, b) => rank[a.record.state] - rank[b.record.state])
      .slice(0, SHOWN_SERIES)
      .map(({ labels, record, value }) => ({
        labels,
        value: finite(value),
        state: record.state,
        since: iso(record.since),
      }));
    const evaluatedAt = rule.evaluatedAt === null ? null : iso(rule.evaluatedAt);
    return { id: rule.id, ...rule.input, state: { evaluatedAt, error: rule.error, series } };
  }

  /** Throws when the rule contradicts itself. Whether its expression can be evaluated is shown, not demanded. */
  check(input: ThresholdInput): void {
    const wrong = limitsProblem(input);
    if (wrong === null) return;
    throw fail('invalid_request', `The clear limit ${wrong}.`, undefined, [{ path: '/clear', message: wrong }]);
  }

  create(input: ThresholdInput): Threshold {
    const { db, clock, changes } = this.#parts;
    this.check(input);
    const now = clock.now();
    const id = newId('th', now);
    db.run('INSERT INTO thresholds VALUES (?, ?, ?)', id, JSON.stringify(input), now);
    this.#rules.set(id, { id, createdAt: now, input, evaluatedAt: null, error: null, series: new Map() });
    changes.publish('thresholds', id);
    return this.get(id);
  }

  /** What is active stays so under new limits; another expression, or none, has other series: theirs are cleared. */
  update(id: string, input: ThresholdInput): Threshold {
    const { db, changes } = this.#parts;
    const rule = this.#rule(id);
    this.check(input);
    const { expression, direction, enabled } = rule.input;
    db.transaction(() => {
      db.run('UPDATE thresholds SET rule_json = ? WHERE id = ?', JSON.stringify(input), id);
      if (expression !== input.expression || direction !== input.direction || (enabled && !input.enabled)) {
        this.#forgetAll(rule, `The rule “${input.name}” was ${input.enabled ? 'changed' : 'switched off'}.`);
      }
    });
    rule.input = input;
    rule.error = null;
    changes.publish('thresholds', id);
    return this.get(id);
  }

  remove(id: string): ThresholdInput {
    const { db, changes } = this.#parts;
    const rule = this.#rule(id);
    db.transaction(() => {
      this.#forgetAll(rule, `The rule “${rule.input.name}” was removed.`);
      db.run('DELETE FROM thresholds WHERE id = ?', id);
    });
    this.#rules.delete(id);
    changes.publish('thresholds', id);
    return rule.input;
  }

  #forgetAll(rule: Rule, why: string): void {
    const { db, alerts } = this.#parts;
    for (const { alertId } of rule.series.values()) if (alertId !== null) alerts.clear(alertId, { text: why });
    db.run('DELETE FROM threshold_series WHERE threshold_id = ?', rule.id);
    rule.series.clear();
  }

  async preview(rule: Pick<ThresholdInput, 'expression' | 'direction' | 'raise' | 'clear'>): Promise<ThresholdPreview> {
    try {
      const samples = await this.#parts.storaged.query(rule.expression);
      const series = samples.slice(0, SHOWN_SERIES).map(({ labels, value }) => ({
        labels,
        value: finite(value),
        wouldBe: wouldBe(rule, value),
      }));
      return { series, error: null };
    } catch (error) {
      if (error instanceof ExpressionError) return { series: [], error: error.message };
      throw error;
    }
  }

  /** One round over all rules. Rounds never overlap: a slow store makes them rarer, not more. */
  evaluate(): Promise<void> {
    this.#evaluating ??= this.#round().finally(() => {
      this.#evaluating = null;
    });
    return this.#evaluating;
  }

  async #round(): Promise<void> {
    const due = [...this.#rules.values()].filter((rule) => rule.input.enabled);
    const worker = async () => {
      for (let rule = due.shift(); rule !== undefined; rule = due.shift()) await this.#evaluateRule(rule);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  }

  async #evaluateRule(rule: Rule): Promise<void> {
    const { input } = rule;
    const errorBefore = rule.error;
    try {
      const samples = await this.#parts.storaged.query(input.expression);
      // It may have been changed or removed while the store was thinking: this answer is not about it any more.
      if (this.#rules.get(rule.id) !== rule || rule.input !== input || !input.enabled) return;
      if (samples.length > MOST_SERIES) {
        throw new ExpressionError(`the expression gives ${samples.length} series; a rule takes ${MOST_SERIES} at most`);
      }
      this.#apply(rule, samples);
      rule.error = null;
    } catch (error) {
      // The store being down says nothing about any series: their states stay as they are.
      rule.error = error instanceof ExpressionError ? error.message : asProblem(error).detail;
      if (asProblem(error).code === 'internal' && !(error instanceof ExpressionError)) {
        this.#parts.log.error('a rule could not be evaluated', {
          rule: rule.id,
          error: String((error as Error).stack),
        });
      }
    }
    if (rule.error !== errorBefore) this.#parts.changes.publish('thresholds', rule.id);
  }

  #apply(rule: Rule, samples: readonly Sample[]): void {
    const { clock, db, intervalMs } = this.#parts;
    const now = clock.now();
    // Also true right after a start, when nothing is known of the time before.
    const gap = rule.evaluatedAt === null || now - rule.evaluatedAt > Math.max(30_000, 3 * intervalMs);
    const seen = new Set<string>();
    db.transaction(() => {
      for (const { labels, value } of samples) {
        const key = seriesKey(labels);
        if (seen.has(key)) continue;
        seen.add(key);
        let series = rule.series.get(key);
        if (series === undefined) {
          series = { labels, record: initial(now), alertId: null, value };
          rule.series.set(key, series);
        } else if (gap) {
          series.record = afterGap(series.record, now);
        }
        this.#step(rule, key, series, value, now);
      }
      for (const [key, series] of rule.series) if (!seen.has(key)) this.#step(rule, key, series, null, now);
    });
    rule.evaluatedAt = now;
  }

  #step(rule: Rule, key: string, series: Series, value: number | null, now: number): void {
    const { db, alerts, changes } = this.#parts;
    const before = series.record;
    const { after, signal } = step(rule.input, before, value, now);
    series.record = after;
    if (value !== null) series.value = value;

    if (signal === 'raise') series.alertId = this.#raise(rule, key, series, value as number);
    if (series.alertId !== null) {
      if (signal === 'repost') {
        alerts.repost(
          series.alertId,
          value as number,
          thresholdExceeded.text(this.#args(rule, key, series, value as number)),
        );
      }
      if (signal === 'clear') {
        const labels = labelWords(series.labels);
        const text = `${rule.input.name}${labels === '' ? '' : ` (${labels})`} is back within its limit.`;
        alerts.clear(series.alertId, { value: value as number, text });
        series.alertId = null;
      }
    }
    if (series.alertId !== null && (before.state === 'no_data') !== (after.state === 'no_data')) {
      alerts.setNoData(series.alertId, after.state === 'no_data');
    }

    if (after.state === 'no_data' && series.alertId === null && now - after.since > FORGET_MS) {
      rule.series.delete(key);
      db.run('DELETE FROM threshold_series WHERE threshold_id = ? AND series_key = ?', rule.id, key);
      return;
    }
    if (after.state !== before.state || after.since !== before.since || signal !== null) {
      this.#persist(rule, key, series);
      if (after.state !== before.state || signal !== null) changes.publish('thresholds', rule.id);
    }
  }

  #persist(rule: Rule, key: string, { labels, record, alertId }: Series): void {
    const { db } = this.#parts;
    if (record.state === 'ok') {
      db.run('DELETE FROM threshold_series WHERE threshold_id = ? AND series_key = ?', rule.id, key);
      return;
    }
    db.run(
      `INSERT INTO threshold_series VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (threshold_id, series_key) DO UPDATE SET state = excluded.state, since = excluded.since,
         alert_id = excluded.alert_id, last_sent_at = excluded.last_sent_at`,
      rule.id,
      key,
      JSON.stringify(labels),
      record.state,
      record.since,
      alertId,
      record.lastSentAt,
    );
  }

  #args(rule: Rule, key: string, series: Series, value: number): ThresholdArgs {
    const { name, severity, direction, expression, raise } = rule.input;
    return {
      ruleId: rule.id,
      ruleName: name,
      severity,
      direction,
      expression,
      value,
      limit: raise,
      labels: series.labels,
      seriesKey: key,
    };
  }

  /** The alert's id; that of the active one, should there be one already. */
  #raise(rule: Rule, key: string, series: Series, value: number): string | null {
    const args = this.#args(rule, key, series, value);
    const request = {
      kind: thresholdExceeded,
      args,
      ruleId: rule.id,
      ruleName: rule.input.name,
      value,
      limit: rule.input.raise,
      only: rule.input.destinations,
    };
    return (
      this.#parts.alerts.raise(request) ?? this.#parts.alerts.activeByKey(thresholdExceeded.dedupKey(args)) ?? null
    );
  }
}
