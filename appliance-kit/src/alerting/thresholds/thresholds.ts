// The rules, and their evaluation: every second or few the rules' expressions are asked of the telemetry store, hundreds at
// once, and each series goes one step through the state machine. Nearly always nothing has changed but the values: then the
// store does not name the series again, and one that is well and within its limit costs a comparison.

import { type Clock, iso } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { logFailure } from '../../base/problems/log-failure.ts';
import { asProblem, fail } from '../../base/problems/problem.ts';
import { unitText } from '../../base/quantity.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import { ExpressionError, type Limit, type Result, type Storaged } from '../../peers/storaged.ts';
import type { Database } from '../../state/database.ts';
import { newId } from '../../state/id.ts';
import type { Actions } from '../actions/index.ts';
import type { AlertFacts, Alerts } from '../alerts/index.ts';
import { ofSeries, type ThresholdArgs, thresholdExceeded, thresholdNoData } from './alerts.ts';
import { type LastHour, lastHour, type RuleChart, ruleChart } from './chart.ts';
import { expressionOf } from './forms.ts';
import { mustBeHours, within } from './hours.ts';
import { afterGap, beyondRaise, initial, limitOf, limitsProblem, step } from './machine.ts';
import { preview } from './preview.ts';
import {
  type EvaluatedRule,
  finite,
  loadRules,
  MAX_SERIES,
  NOTHING_KNOWN,
  type Series,
  SHOWN_SERIES,
  seriesKey,
} from './rule.ts';
import type {
  SeriesState,
  Threshold,
  ThresholdInput,
  ThresholdPreview,
  ThresholdPreviewInput,
  ThresholdSeries,
} from './schema.ts';

/** Rules that are asked about at once; of such batches two are under way: one is read while the store works on the other. */
const BATCH = 250;
const AT_ONCE = 2;
/** Rules that the store has given a hint of are asked about at once, but not more often than this. */
const HINTED_MS = 100;
/** A series that is gone and was fine is forgotten after this. */
const FORGET_MS = 60 * 60 * 1000;

export interface ThresholdParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly changes: Changes;
  readonly alerts: Alerts;
  readonly storaged: Pick<Storaged, 'query' | 'queryRange' | 'queryBatch'>;
  /** The actions of rules besides notifications. */
  readonly actions: () => Pick<Actions, 'queue'>;
  readonly audience: { mustKnow: (destinations: readonly string[], path: string) => void };
  readonly log: Log;
  /** Rules were made, changed or removed. */
  readonly rulesChanged?: () => void;
  /** How often `evaluate` is called, to know a gap when there is one. */
  readonly intervalMs: number;
}

export class Thresholds {
  readonly #parts: ThresholdParts;
  readonly #rules: Map<string, EvaluatedRule>;
  #evaluating: Promise<void> | null = null;
  readonly #hinted = new Set<string>();
  #hint: NodeJS.Timeout | null = null;
  #hintAnswered: Promise<void> = Promise.resolve();
  #questions = 0;
  /** Rules that the store watches the limit of. */
  #watched: ReadonlySet<string> = new Set();

  constructor(parts: ThresholdParts) {
    this.#parts = parts;
    this.#rules = loadRules(parts.db);
  }

  list(): Threshold[] {
    return [...this.#rules.values()].map((rule) => this.#describe(rule));
  }

  readonly evaluated = (): Iterable<EvaluatedRule> => this.#rules.values();

  /** Rules that watch nothing because they cannot be evaluated. */
  failing(): { ruleId: string; ruleName: string; error: string }[] {
    return [...this.#rules.values()].flatMap(({ id, input, error, wrong }) =>
      input.enabled && wrong && error !== null ? [{ ruleId: id, ruleName: input.name, error }] : [],
    );
  }

  get(id: string): Threshold {
    return this.#describe(this.#rule(id));
  }

  #rule(id: string): EvaluatedRule {
    const rule = this.#rules.get(id);
    if (rule === undefined) throw fail('not_found', `There is no threshold ${id}.`);
    return rule;
  }

  #describe(rule: EvaluatedRule): Threshold {
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
    return {
      id: rule.id,
      ...rule.input,
      state: { evaluatedAt, error: rule.error, errorAt: rule.errorAt, unit: rule.unit, series },
    };
  }

  /** As it is kept: with the expression of its form. Throws what contradicts itself; whether it can be evaluated is shown. */
  complete(input: ThresholdInput): ThresholdInput {
    if (input.escalation) this.#parts.audience.mustKnow(input.escalation.destinations, '/escalation/destinations');
    return this.byItself(input);
  }

  /** The same, whatever it names. */
  byItself(input: ThresholdInput): ThresholdInput {
    const wrong = limitsProblem(input);
    if (wrong !== null) throw fail('invalid_request', `The limits cannot be: ${wrong.message}.`, undefined, [wrong]);
    if (input.hours) mustBeHours(input.hours);
    return input.form ? { ...input, expression: expressionOf(input.form) } : input;
  }

  create(given: ThresholdInput, id = newId('th', this.#parts.clock.now())): Threshold {
    const { db, clock, changes } = this.#parts;
    const input = this.complete(given);
    const now = clock.now();
    db.run('INSERT INTO thresholds VALUES (?, ?, ?)', id, JSON.stringify(input), now);
    this.#rules.set(id, {
      ...{ id, createdAt: now, input, evaluatedAt: null, error: null, errorAt: null, wrong: false },
      series: new Map(),
      asked: 0,
      unit: '',
      ...NOTHING_KNOWN,
    });
    changes.publish('thresholds', id);
    this.#parts.rulesChanged?.();
    return this.get(id);
  }

  /** What is active stays so under new limits; another expression, or none, has other series: theirs are cleared. */
  update(id: string, given: ThresholdInput): Threshold {
    const { db, changes } = this.#parts;
    const rule = this.#rule(id);
    const input = this.complete(given);
    const { expression, direction, enabled } = rule.input;
    db.transaction(() => {
      db.run('UPDATE thresholds SET rule_json = ? WHERE id = ?', JSON.stringify(input), id);
      if (expression !== input.expression || direction !== input.direction || (enabled && !input.enabled)) {
        this.#forgetAll(rule, `The rule “${input.name}” was ${input.enabled ? 'changed' : 'switched off'}.`);
      } else if (!input.noDataSeconds) {
        for (const [key, series] of rule.series) {
          if (series.noDataAlertId === null) continue;
          this.#clearNoData(series, `The rule “${input.name}” does not mind missing data any more.`);
          this.#persist(rule, key, series);
        }
      }
    });
    rule.input = input;
    Object.assign(rule, NOTHING_KNOWN);
    this.#noteError(rule, null);
    changes.publish('thresholds', id);
    this.#parts.rulesChanged?.();
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
    this.#parts.rulesChanged?.();
    return rule.input;
  }

  #forgetAll(rule: EvaluatedRule, why: string): void {
    const { db, alerts } = this.#parts;
    for (const series of rule.series.values()) {
      if (series.alertId !== null) {
        alerts.clear(series.alertId, { text: why });
        this.#act(rule, series.alertId, 'clear');
      }
      this.#clearNoData(series, why);
    }
    db.run('DELETE FROM threshold_series WHERE threshold_id = ?', rule.id);
    rule.series.clear();
    Object.assign(rule, NOTHING_KNOWN);
  }

  #clearNoData(series: Series, text: string): void {
    if (series.noDataAlertId !== null) this.#parts.alerts.clear(series.noDataAlertId, { text });
    series.noDataAlertId = null;
  }

  /** A series that is gone for good: its alerts are cleared. When it comes back, it begins anew. */
  forget(id: string, labels: Record<string, string>): Threshold {
    const { db, alerts, changes } = this.#parts;
    const rule = this.#rule(id);
    const key = seriesKey(labels);
    const series = rule.series.get(key);
    if (series === undefined) throw fail('not_found', `The rule “${rule.input.name}” knows no such series.`);
    if (series.record.state !== 'no_data') {
      throw fail(
        'conflict',
        'The series has a value now, and would be back at once.',
        'Change the expression instead.',
      );
    }
    db.transaction(() => {
      const why = 'The series was forgotten: it is gone for good.';
      if (series.alertId !== null) {
        alerts.clear(series.alertId, { text: why });
        this.#act(rule, series.alertId, 'clear');
      }
      this.#clearNoData(series, why);
      db.run('DELETE FROM threshold_series WHERE threshold_id = ? AND series_key = ?', id, key);
    });
    rule.series.delete(key);
    Object.assign(rule, NOTHING_KNOWN);
    changes.publish('thresholds', id);
    return this.get(id);
  }

  /** What the rule would say now, and when it would have fired. A wrong expression is an answer, not an error. */
  preview(input: ThresholdPreviewInput): Promise<ThresholdPreview> {
    return preview(this.#parts, input);
  }

  /** What an alert of a rule is drawn by; null when it is of none, or of one that is gone. */
  chartOf(alert: Pick<AlertFacts, 'ruleId' | 'labels' | 'limit'>): RuleChart | null {
    const rule = alert.ruleId === null ? undefined : this.#rules.get(alert.ruleId);
    return rule === undefined ? null : ruleChart(rule, alert);
  }

  /** For the picture in a mail; null when there is none. */
  async lastHour(alert: Pick<AlertFacts, 'ruleId' | 'labels' | 'class' | 'limit' | 'unit'>): Promise<LastHour | null> {
    const chart = alert.class === 'threshold.exceeded' ? this.chartOf(alert) : null;
    const { storaged, clock } = this.#parts;
    return chart === null ? null : lastHour(storaged, Math.floor(clock.now() / 1000), chart, alert);
  }

  /** One round over all rules. Rounds never overlap: a slow store makes them rarer, not more. */
  evaluate(): Promise<void> {
    this.#evaluating ??= this.#round().finally(() => {
      this.#evaluating = null;
    });
    return this.#evaluating;
  }

  /** What the store is to watch: a hint of it is for `evaluateSoon`. */
  limits(): Map<string, Limit> {
    const limits = new Map<string, Limit>();
    for (const { id, input } of this.#rules.values()) {
      const { enabled, direction, expression: query, raise } = input;
      // A band has two limits: it waits for its turn.
      if (enabled && direction !== 'outside') limits.set(id, { query, [direction]: raise });
    }
    return limits;
  }

  /** Those of `limits` that the store does watch from now on. */
  watched(ids: ReadonlySet<string>): void {
    this.#watched = ids;
  }

  /** Rules of which it is known that their turn is worth while now. */
  evaluateSoon(ids: readonly string[]): void {
    for (const id of ids) this.#hinted.add(id);
    this.#hint ??= setTimeout(() => {
      this.#hintAnswered = this.#evaluateHinted();
    }, 0);
  }

  async #evaluateHinted(): Promise<void> {
    const began = performance.now();
    const batch = [...this.#hinted].slice(0, BATCH);
    for (const id of batch) this.#hinted.delete(id);
    try {
      const rules = batch.flatMap((id) => this.#rules.get(id) ?? []).filter(({ input }) => input.enabled);
      if (rules.length > 0) await this.#evaluateBatch(rules);
    } catch (error) {
      logFailure(this.#parts.log, 'rules could not be evaluated', error);
    }
    // As rounds do, it leaves three quarters of the time to others.
    const rest = Math.max(HINTED_MS, 3 * (performance.now() - began));
    this.#hint = setTimeout(() => {
      this.#hint = null;
      if (this.#hinted.size > 0) this.evaluateSoon([]);
    }, rest).unref();
  }

  /** Resolves when nothing is asked any more. */
  async stop(): Promise<void> {
    this.#hinted.clear();
    await Promise.all([this.#hintAnswered, this.#evaluating]);
    if (this.#hint !== null) clearTimeout(this.#hint);
  }

  async #round(): Promise<void> {
    const { clock, intervalMs } = this.#parts;
    const now = clock.now();
    // One that is well and whose limit the store watches is looked at as often as was asked for, and not more often: it is told
    // of what happens to it. Half a second is what rounds are out of step.
    const rests = ({ id, well, evaluatedAt }: EvaluatedRule) =>
      well && this.#watched.has(id) && Math.abs(now - (evaluatedAt ?? 0)) < intervalMs - 500;
    const due = [...this.#rules.values()].filter((rule) => rule.input.enabled && !rests(rule));
    const worker = async () => {
      for (let batch = due.splice(0, BATCH); batch.length > 0; batch = due.splice(0, BATCH)) {
        due.push(...(await this.#evaluateBatch(batch)));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  }

  /** Those that the store has not come to. */
  async #evaluateBatch(batch: readonly EvaluatedRule[]): Promise<EvaluatedRule[]> {
    const asked = batch.map((rule) => ({ rule, input: rule.input }));
    const question = ++this.#questions;
    let results: Awaited<ReturnType<Storaged['queryBatch']>>;
    try {
      results = await this.#parts.storaged.queryBatch(
        batch.map(({ input, set }) => ({ expression: input.expression, known: set })),
      );
    } catch (error) {
      // The store being down says nothing about any series: their states stay as they are.
      for (const rule of batch) this.#noteError(rule, error);
      return [];
    }
    const later: EvaluatedRule[] = [];
    asked.forEach(({ rule, input }, at) => {
      const result = results[at];
      // It may have been changed or removed while the store was thinking: this answer is not about it any more.
      if (this.#rules.get(rule.id) !== rule || rule.input !== input || !input.enabled || rule.asked > question) return;
      if (result === null || result === undefined) {
        later.push(rule);
        return;
      }
      try {
        if (result instanceof ExpressionError) throw result;
        // Another answer came between, with other series: it does not say which these values are of.
        if (result.labels === null && result.set !== rule.set) return;
        if (result.values.length > MAX_SERIES) {
          const many = result.values.length;
          throw new ExpressionError(`the expression gives ${many} series; a rule takes ${MAX_SERIES} at most`);
        }
        rule.asked = question;
        this.#apply(rule, result);
        this.#noteError(rule, null);
      } catch (error) {
        Object.assign(rule, NOTHING_KNOWN);
        this.#noteError(rule, error);
      }
    });
    // Should the store come to nothing at all, that is the end of this round.
    return later.length < batch.length ? later : [];
  }

  #noteError(rule: EvaluatedRule, error: unknown): void {
    const before = rule.error;
    // A store that does not answer says nothing about the rule.
    if (error === null || error instanceof ExpressionError) rule.wrong = error !== null;
    if (error === null) {
      rule.error = null;
      rule.errorAt = null;
    } else {
      rule.errorAt = error instanceof ExpressionError ? error.at : null;
      rule.error = error instanceof ExpressionError ? error.message : asProblem(error).detail;
      if (asProblem(error).code === 'internal' && !(error instanceof ExpressionError)) {
        logFailure(this.#parts.log, 'a rule could not be evaluated', error, { rule: rule.id });
      }
    }
    if (rule.error !== before) this.#parts.changes.publish('thresholds', rule.id);
  }

  #apply(rule: EvaluatedRule, { set, labels, measure, values }: Result): void {
    const { clock, db, intervalMs } = this.#parts;
    const now = clock.now();
    // Also true right after a start, when nothing is known of the time before.
    const gap = rule.evaluatedAt === null || now - rule.evaluatedAt > Math.max(30_000, 3 * intervalMs);
    rule.well = labels === null && !gap && this.#allWell(rule, values);
    if (rule.well) {
      rule.evaluatedAt = now;
      return;
    }
    if (measure !== null) rule.unit = unitText(measure);
    const open = rule.input.hours ? within(rule.input.hours, now) : true;
    const seen = new Set<string>();
    db.transaction(() => {
      if (labels !== null) this.#learn(rule, set, labels, values, now);
      values.forEach((value, at) => {
        const known = rule.order[at];
        if (known === null || known === undefined) return;
        seen.add(known.key);
        if (gap) known.series.record = afterGap(known.series.record, now);
        this.#step(rule, known.key, known.series, value, now, open);
      });
      for (const [key, series] of rule.series) {
        if (seen.has(key)) continue;
        // Whether it was missing while it was not evaluated is not known.
        if (gap && series.noDataAlertId === null) series.record = afterGap(series.record, now);
        this.#step(rule, key, series, null, now, open);
      }
    });
    rule.evaluatedAt = now;
  }

  /** Whether every series is there, was well before, and is within its limit: then nothing is to be done but to note the values. */
  #allWell(rule: EvaluatedRule, values: readonly number[]): boolean {
    const { order, input } = rule;
    if (order.length !== rule.series.size || order.length === 0) return false;
    for (let at = 0; at < order.length; at++) {
      const series = order[at]?.series;
      const value = values[at] as number;
      if (series === undefined || series.record.state !== 'ok' || series.record.alerted) return false;
      if (series.noDataAlertId !== null || Number.isNaN(value) || beyondRaise(input, value)) return false;
    }
    for (let at = 0; at < order.length; at++) (order[at] as { series: Series }).series.value = values[at] as number;
    return true;
  }

  /** Another set of series than before: which of the store's values belongs to which of them. */
  #learn(
    rule: EvaluatedRule,
    set: string,
    labels: NonNullable<Result['labels']>,
    values: readonly number[],
    now: number,
  ): void {
    this.#absent(rule, labels, now);
    const seen = new Set<string>();
    rule.order = labels.map((own, at) => {
      const key = seriesKey(own);
      if (seen.has(key)) return null;
      seen.add(key);
      let series = rule.series.get(key);
      if (series === undefined) {
        series = { labels: own, record: initial(now), alertId: null, noDataAlertId: null, value: values[at] ?? null };
        rule.series.set(key, series);
        // So that it is missed when it is gone after a restart.
        if (rule.input.noDataSeconds) this.#persist(rule, key, series);
      }
      return { key, series };
    });
    rule.set = set;
  }

  /** A rule that minds missing data, and has never had any: what is missing is the expression as a whole. */
  #absent(rule: EvaluatedRule, samples: readonly Record<string, string>[], now: number): void {
    const key = seriesKey({});
    const known = rule.series.get(key);
    if (samples.length === 0) {
      if (!rule.input.noDataSeconds || rule.series.size > 0) return;
      rule.series.set(key, { labels: {}, record: initial(now), alertId: null, noDataAlertId: null, value: null });
      return;
    }
    // Its series have come, each by its own labels.
    if (known === undefined || known.value !== null || known.alertId !== null) return;
    if (samples.some((labels) => seriesKey(labels) === key)) return;
    this.#clearNoData(known, `${rule.input.name} has data.`);
    rule.series.delete(key);
    this.#parts.db.run('DELETE FROM threshold_series WHERE threshold_id = ? AND series_key = ?', rule.id, key);
  }

  #lookForData(rule: EvaluatedRule, key: string, series: Series, now: number, open: boolean): boolean {
    const { labels, record } = series;
    const { name: ruleName, severity, expression, noDataSeconds = 0, destinations, escalation } = rule.input;
    if (record.state !== 'no_data') {
      if (series.noDataAlertId === null) return false;
      this.#clearNoData(series, `${ruleName}${ofSeries({ labels, expression })} has data again.`);
      return true;
    }
    if (!open || noDataSeconds === 0 || series.noDataAlertId !== null) return false;
    if (now - record.since < noDataSeconds * 1000) return false;
    const args = { ruleId: rule.id, ruleName, severity, expression, labels, seriesKey: key, noDataSeconds };
    const request = {
      ...{ kind: thresholdNoData, args, ruleId: rule.id, ruleName },
      only: destinations,
      ...(escalation && { escalation }),
    };
    const { alerts } = this.#parts;
    series.noDataAlertId = alerts.raise(request) ?? alerts.activeByKey(thresholdNoData.dedupKey(args)) ?? null;
    return series.noDataAlertId !== null;
  }

  #step(rule: EvaluatedRule, key: string, series: Series, value: number | null, now: number, open: boolean): void {
    const { db, alerts, changes } = this.#parts;
    const before = series.record;
    const { after, signal } = step(rule.input, before, value, now, open);
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
        const which = ofSeries({ labels: series.labels, expression: rule.input.expression });
        const text = `${rule.input.name}${which} is back within its limit.`;
        alerts.clear(series.alertId, { value: value as number, text });
        this.#act(rule, series.alertId, 'clear');
        series.alertId = null;
      }
    }
    if (series.alertId !== null && (before.state === 'no_data') !== (after.state === 'no_data')) {
      alerts.setNoData(series.alertId, after.state === 'no_data');
    }

    const minded = this.#lookForData(rule, key, series, now, open);

    // One whose absence is minded is only forgotten by hand: it was to be missed.
    const forgotten = series.alertId === null && series.noDataAlertId === null && !rule.input.noDataSeconds;
    if (after.state === 'no_data' && forgotten && now - after.since > FORGET_MS) {
      rule.series.delete(key);
      Object.assign(rule, NOTHING_KNOWN);
      db.run('DELETE FROM threshold_series WHERE threshold_id = ? AND series_key = ?', rule.id, key);
      return;
    }
    if (after.state !== before.state || after.since !== before.since || signal !== null || minded) {
      this.#persist(rule, key, series);
      if (after.state !== before.state || signal !== null || minded) changes.publish('thresholds', rule.id);
    }
  }

  #persist(rule: EvaluatedRule, key: string, { labels, record, alertId, noDataAlertId }: Series): void {
    const { db } = this.#parts;
    if (record.state === 'ok' && !rule.input.noDataSeconds) {
      db.run('DELETE FROM threshold_series WHERE threshold_id = ? AND series_key = ?', rule.id, key);
      return;
    }
    db.run(
      `INSERT INTO threshold_series VALUES (?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (threshold_id, series_key) DO UPDATE SET state = excluded.state, since = excluded.since,
         alert_id = excluded.alert_id, last_sent_at = excluded.last_sent_at,
         no_data_alert_id = excluded.no_data_alert_id`,
      rule.id,
      key,
      JSON.stringify(labels),
      record.state,
      record.since,
      alertId,
      record.lastSentAt,
      noDataAlertId,
    );
  }

  #args(rule: EvaluatedRule, key: string, series: Series, value: number): ThresholdArgs {
    const { name, severity, expression } = rule.input;
    const { direction, limit } = limitOf(rule.input, value);
    const [{ id: ruleId, unit }, { labels }] = [rule, series];
    return {
      ...{ ruleId, ruleName: name, severity, direction, expression, value, limit, unit, labels },
      seriesKey: key,
    };
  }

  /** The alert's id; that of the active one, should there be one already. */
  #raise(rule: EvaluatedRule, key: string, series: Series, value: number): string | null {
    const args = this.#args(rule, key, series, value);
    const request = {
      kind: thresholdExceeded,
      args,
      ...{ ruleId: rule.id, ruleName: args.ruleName, value, limit: args.limit, unit: args.unit },
      only: rule.input.destinations,
      ...(rule.input.escalation && { escalation: rule.input.escalation }),
    };
    const raised = this.#parts.alerts.raise(request);
    if (raised !== null) this.#act(rule, raised, 'raise');
    return raised ?? this.#parts.alerts.activeByKey(thresholdExceeded.dedupKey(args)) ?? null;
  }

  #act(rule: EvaluatedRule, alertId: string, on: 'raise' | 'clear'): void {
    const { actions } = rule.input;
    if (actions?.length) this.#parts.actions().queue(alertId, actions, on);
  }
}
