// A rule as it is evaluated: with its series, and what is known of the store's last answer about them.
import type { Database } from '../../state/database.ts';
import type { SeriesRecord } from './machine.ts';
import type { SeriesState, ThresholdInput } from './schema.ts';

export interface Series {
  readonly labels: Record<string, string>;
  record: SeriesRecord;
  alertId: string | null;
  /** Of the alert that it has no data. */
  noDataAlertId: string | null;
  value: number | null;
}

export interface EvaluatedRule {
  readonly id: string;
  readonly createdAt: number;
  input: ThresholdInput;
  evaluatedAt: number | null;
  error: string | null;
  errorAt: { line: number; column: number } | null;
  /** It is the rule that is wrong, and not the store that does not answer. */
  wrong: boolean;
  readonly series: Map<string, Series>;
  /** What the store calls the series of its last result, and these in order; what is there twice is null. */
  set: string | null;
  order: readonly ({ readonly key: string; readonly series: Series } | null)[];
  /** Which question its last answer was to: an earlier one may be answered later, and says nothing new. */
  asked: number;
  /** What its values are measured in, as `bytes/s`; empty while nobody has said it. */
  unit: string;
  /** Every series was there and well within the limit when it was evaluated last. */
  well: boolean;
}

export const NOTHING_KNOWN = { set: null, order: [], well: false } as const;

/** The same labels in any order are the same series. */
export function seriesKey(labels: Record<string, string>): string {
  return JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
}

export const finite = (value: number | null) =>
  value === null || Number.isNaN(value) ? null : Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, value));

/** More series than this under one rule is a mistake in the rule; it would drown every destination. */
export const MAX_SERIES = 10_000;
/** How many series a page is shown; those that matter first. */
export const SHOWN_SERIES = 500;

/** The rules and their series, as they were kept. */
export function loadRules(db: Database): Map<string, EvaluatedRule> {
  const rules = new Map<string, EvaluatedRule>();
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
      series.set(one.series_key as string, {
        labels,
        record,
        alertId: one.alert_id as string | null,
        noDataAlertId: one.no_data_alert_id as string | null,
        value: null,
      });
    }
    rules.set(row.id as string, {
      id: row.id as string,
      createdAt: row.created_at as number,
      input: JSON.parse(row.rule_json as string),
      evaluatedAt: null,
      error: null,
      errorAt: null,
      wrong: false,
      series,
      asked: 0,
      unit: '',
      ...NOTHING_KNOWN,
    });
  }
  return rules;
}
