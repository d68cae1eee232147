// Looks into alerts after they were raised, and keeps what will not be there later: the series that changed, the marks, the
// log. It does so twice: at once, and a minute later, when the log goes on to say what came of it and what is sent once a
// minute has arrived. Of a burst the first alerts are looked into, and the others say which these are.

import type { MarksSource } from '../../analytics/statistics/index.ts';
import { type Clock, iso } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { logFailure } from '../../base/problems/log-failure.ts';
import { asProblem } from '../../base/problems/problem.ts';
import { oneLine } from '../../base/words.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import { ExpressionError } from '../../peers/storaged.ts';
import type { Database, Row } from '../../state/database.ts';
import type { LogReader } from '../../system/logs/index.ts';
import type { AlertFacts, Alerts } from '../alerts/index.ts';
import type { Thresholds } from '../thresholds/index.ts';
import { changedSeries, type Store } from './changed.ts';
import { classChart } from './class-chart.ts';
import type { AlertChart, AlertFindings, Kept } from './schema.ts';

const MINUTE = 60_000;
/** What is sent each second has arrived by then. */
const FIRST_MS = 2_000;
/** The log is read to a minute after the raise; a moment later it has that minute's last line. */
const AGAIN_MS = MINUTE + 2_000;
/** Of alerts of one rule or class within a minute of each other only so many are looked into. */
const EACH_BURST = 5;
const BURST_MS = MINUTE;
/** So many wait at a time; who comes when it is full is one of the burst. */
const MOST_WAITING = 50;
/** What was not looked into by then is not any more: it would find another time than that of the raise. */
const TOO_LATE_MS = 60 * MINUTE;
/** The alerts of a year and a few busy days; older ones keep everything but this. */
const MOST_KEPT = 5_000;
export const MOST_BYTES = 64 * 1024;

const MARKS_BEFORE = 30 * MINUTE;
const LOG_BEFORE = 15 * MINUTE;
const AROUND = 15 * MINUTE;
const MOST_MARKS = 50;
/** Lines that are warnings or worse, and others to fill up what these leave. */
const [MOST_LINES, OTHER_LINES] = [60, 20];
const LINE = 400;
/** A chart begins so long before the raise, or ten times as long as its value is about. */
const LEAD_S = 3_600;

export interface FindingsParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly changes: Pick<Changes, 'publish'>;
  readonly alerts: Pick<Alerts, 'facts' | 'around'>;
  readonly thresholds: Pick<Thresholds, 'chartOf'>;
  readonly storaged: Store;
  readonly marks: Pick<MarksSource, 'between'>;
  readonly logs: Pick<LogReader, 'between'>;
}

interface Burst {
  readonly first: string;
  count: number;
  last: number;
}

/** Why a part of it could not be found, in the words of who could not. */
function reason(error: unknown): string {
  return error instanceof ExpressionError
    ? `The store refused the question: ${error.message}`
    : asProblem(error).detail;
}

export class Findings {
  readonly #parts: FindingsParts;
  readonly #bursts = new Map<string, Burst>();
  #running: Promise<void> | null = null;
  #stopped = false;

  constructor(parts: FindingsParts) {
    this.#parts = parts;
  }

  /** Called in the transaction that raises it. */
  raised(alert: AlertFacts): void {
    const { db, clock } = this.#parts;
    const now = clock.now();
    const key = alert.ruleId ?? alert.class;
    let burst = this.#bursts.get(key);
    if (burst === undefined || now - burst.last > BURST_MS) {
      for (const [other, { last }] of this.#bursts) if (now - last > BURST_MS) this.#bursts.delete(other);
      burst = { first: alert.id, count: 0, last: now };
      this.#bursts.set(key, burst);
    }
    burst.count++;
    burst.last = now;
    const waiting = db.get('SELECT count(*) AS n FROM alert_findings WHERE due_at IS NOT NULL')?.n as number;
    const one = burst.first === alert.id || (burst.count <= EACH_BURST && waiting < MOST_WAITING);
    db.run(
      'INSERT INTO alert_findings (alert_id, of_id, state, due_at) VALUES (?, ?, ?, ?)',
      ...[alert.id, one ? null : burst.first, one ? 'waiting' : 'complete', one ? now + FIRST_MS : null],
    );
  }

  /** Looks into what is due, one after the other. Runs never overlap. */
  tick(): Promise<void> {
    this.#running ??= this.#round().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  /** Resolves when nothing is being looked into any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  async #round(): Promise<void> {
    const { db, clock, log, changes } = this.#parts;
    const due = db.all(
      'SELECT alert_id, state FROM alert_findings WHERE due_at <= ? ORDER BY due_at LIMIT ?',
      ...[clock.now(), MOST_WAITING],
    );
    for (const { alert_id: id, state } of due as { alert_id: string; state: string }[]) {
      if (this.#stopped) return;
      const alert = this.#parts.alerts.facts(id);
      const raisedAt = Date.parse(alert.raisedAt);
      if (clock.now() - raisedAt > TOO_LATE_MS) {
        db.run('UPDATE alert_findings SET due_at = NULL WHERE alert_id = ?', id);
        continue;
      }
      const last = state === 'partial' || clock.now() >= raisedAt + AGAIN_MS;
      const kept = await this.#find(alert);
      for (const note of [kept.series.note, kept.marks.note, kept.log.note])
        if (note !== null) log.debug('not all was found around an alert', { error: note });
      db.run(
        'UPDATE alert_findings SET state = ?, due_at = ?, computed_at = ?, document_json = ? WHERE alert_id = ?',
        last ? 'complete' : 'partial',
        last ? null : raisedAt + AGAIN_MS,
        clock.now(),
        fitting(kept),
        id,
      );
      changes.publish('alerts', id);
    }
    if (due.length > 0) {
      const newest = db.get('SELECT max(number) AS n FROM alert_findings')?.n as number;
      db.run('DELETE FROM alert_findings WHERE number <= ? AND due_at IS NULL', newest - MOST_KEPT);
    }
  }

  /** Each part by itself: what one source does not answer says nothing about the others. */
  async #find(alert: AlertFacts): Promise<Kept> {
    const { clock, marks, logs, log } = this.#parts;
    const raisedAt = Date.parse(alert.raisedAt);
    const until = Math.min(clock.now(), raisedAt + MINUTE);
    const failed =
      <T>(what: string, empty: T) =>
      (error: unknown): T & { note: string } => {
        logFailure(log, `the ${what} around an alert could not be read`, error);
        return { ...empty, note: reason(error) };
      };
    const none = { count: 0, names: [] };
    const at = iso(raisedAt);
    const nothing = { items: [], compared: 0, of: 0, began: none, ended: none, from: at, to: at, baselineFrom: at };
    return {
      series: await this.#series(alert, until).catch(failed('series', nothing)),
      marks: await marks
        .between(raisedAt - MARKS_BEFORE, until)
        .then(({ items, leftOut }) => {
          // Itself, and what was raised with it, is among the other alerts.
          const others = items.filter(({ kind, time }) => kind !== 'alert' || Date.parse(time) < raisedAt - AROUND);
          const kept = others
            .slice(-MOST_MARKS)
            .map((one) => ({ ...one, title: oneLine(one.title, 200), detail: oneLine(one.detail, 300) }));
          return { items: kept, leftOut: leftOut + others.length - kept.length, note: null };
        })
        .catch(failed('marks', { items: [], leftOut: 0 })),
      log: await lines(logs, raisedAt - LOG_BEFORE, until, raisedAt).catch(failed('log', { items: [], leftOut: 0 })),
    };
  }

  #series(alert: AlertFacts, until: number): Promise<Kept['series']> {
    const chart = this.#parts.thresholds.chartOf(alert);
    return changedSeries(this.#parts.storaged, {
      labels: alert.labels,
      expression: chart?.expression ?? null,
      raisedAt: Math.floor(Date.parse(alert.raisedAt) / 1000),
      until: Math.floor(until / 1000),
      windowSeconds: chart?.windowSeconds ?? 0,
    });
  }

  /** Of what is there now: a chart's data, and other alerts, are kept by others. */
  #chart(alert: AlertFacts): AlertChart | null {
    const now = Math.floor(this.#parts.clock.now() / 1000);
    const rule = this.#parts.thresholds.chartOf(alert);
    const other = rule === null ? classChart(alert) : null;
    if (rule === null && other === null) return null;
    const lead = Math.max(LEAD_S, 10 * (rule?.windowSeconds ?? 0));
    const ended = alert.clearedAt === null ? null : Math.ceil(Date.parse(alert.clearedAt) / 1000) + lead;
    return {
      title: rule === null ? (other?.title ?? '') : (alert.ruleName ?? ''),
      expression: rule?.expression ?? other?.expression ?? '',
      alone: rule?.alone ?? true,
      histogram: rule?.histogram ?? null,
      // The limit that was set when it was raised: the rule may have another one by now.
      limit: rule === null ? null : rule.histogram === null ? (alert.limit ?? rule.limit) : rule.limit,
      from: Math.floor(Date.parse(alert.raisedAt) / 1000) - lead,
      to: ended === null || ended > now ? null : ended,
    };
  }

  /** @param readsLogs whether who asks may read the log */
  get(id: string, readsLogs: boolean): AlertFindings {
    const { db, alerts } = this.#parts;
    const alert = alerts.facts(id);
    const row = db.get('SELECT * FROM alert_findings WHERE alert_id = ?', id);
    const first = row?.of_id === null ? undefined : (row?.of_id as string | undefined);
    const from: Row | undefined =
      first === undefined ? row : db.get('SELECT * FROM alert_findings WHERE alert_id = ?', first);
    const kept = from?.document_json == null ? null : (JSON.parse(from.document_json as string) as Kept);
    const raisedAt = Date.parse(alert.raisedAt);
    const waiting = from !== undefined && from.due_at !== null;
    return {
      state: kept === null ? (waiting ? 'waiting' : 'none') : waiting ? 'partial' : 'complete',
      computedAt: from?.computed_at == null ? null : iso(from.computed_at as number),
      insteadOf: first === undefined ? null : { id: first, title: alerts.facts(first).title },
      chart: this.#chart(alert),
      series: kept?.series ?? null,
      marks: kept?.marks ?? null,
      log:
        kept === null || readsLogs
          ? (kept?.log ?? null)
          : { items: [], leftOut: kept.log.items.length + kept.log.leftOut, note: 'Operators may read the log.' },
      neighbours: alerts.around(raisedAt - AROUND, raisedAt + AROUND, id),
    };
  }
}

/** Warnings and worse, then what else was said last before the raise. */
async function lines(logs: FindingsParts['logs'], from: number, to: number, raisedAt: number): Promise<Kept['log']> {
  const bad = await logs.between(from, to, 'warning');
  const nearest = (all: typeof bad.lines, most: number) =>
    [...all]
      .sort((a, b) => Math.abs(Date.parse(a.time) - raisedAt) - Math.abs(Date.parse(b.time) - raisedAt))
      .slice(0, most);
  const chosen = nearest(bad.lines, MOST_LINES);
  let leftOut = bad.lines.length - chosen.length;
  if (chosen.length < OTHER_LINES) {
    const others = (await logs.between(from, to, 'info')).lines.filter(({ level }) => level === 'info');
    const added = nearest(others, OTHER_LINES - chosen.length);
    chosen.push(...added);
    leftOut += others.length - added.length;
  }
  const items = chosen
    .sort((a, b) => (a.time < b.time ? -1 : 1))
    .map(({ time, service, level, text }) => ({ time, service, level, text: oneLine(text, LINE) }));
  return { items, leftOut, note: bad.all ? null : 'The log is so full that not all of that time could be read.' };
}

/** No longer than is kept of one alert: what there is most of makes room. */
export function fitting(kept: Kept): string {
  let { series, marks, log } = kept;
  for (;;) {
    const text = JSON.stringify({ series, marks, log });
    if (Buffer.byteLength(text) <= MOST_BYTES) return text;
    const sizes = [log.items, marks.items, series.items].map((items) => JSON.stringify(items).length);
    const half = <T>(items: readonly T[]) => items.slice(0, items.length >> 1);
    const largest = sizes.indexOf(Math.max(...sizes));
    const without = (part: { items: readonly unknown[]; leftOut: number }) =>
      part.leftOut + part.items.length - half(part.items).length;
    if (largest === 0) log = { ...log, items: half(log.items), leftOut: without(log) };
    else if (largest === 1) marks = { ...marks, items: half(marks.items), leftOut: without(marks) };
    else series = { ...series, items: half(series.items), note: 'Some labels are too long to be kept here.' };
  }
}
