// What an alert of a rule is drawn by: for its page, and for the picture in a mail.
import type { Storaged } from '../../peers/storaged.ts';
import type { AlertFacts } from '../alerts/index.ts';
import { limitOf } from './machine.ts';
import { type EvaluatedRule, seriesKey } from './rule.ts';
import { narrowed, selectorsOf } from './selectors.ts';

export interface RuleChart {
  /** The expression of the value that is compared; of the alert's series alone when `alone`. */
  readonly expression: string;
  readonly alone: boolean;
  /** The histogram that the value is made of, when it is one: drawn as a heatmap. */
  readonly histogram: string | null;
  /** Of what is drawn: of a heatmap the measurement that is too slow, not how many there may be. */
  readonly limit: number;
  readonly direction: 'above' | 'below';
  /** For how long it had to be beyond the limit, or over how much time its value is made; the longer. */
  readonly windowSeconds: number;
}

/** A histogram in Prometheus' classic form is many series of numbers. */
const CLASSIC = /_bucket$/;

/** The histogram behind a rule, and the limit within it. */
function histogramOf({ input }: EvaluatedRule, labels: Readonly<Record<string, string>>) {
  const { form, expression, raise } = input;
  if (form?.kind === 'over-limit') {
    const by = Object.fromEntries(Object.entries(labels).filter(([name]) => form.by.includes(name)));
    return { histogram: narrowed(form.metric, by), limit: form.slowerThan ?? raise };
  }
  const [one, ...others] = selectorsOf(expression);
  const quantile = /^\s*histogram_quantile\s*\(/.test(expression);
  if (!quantile || one === undefined || others.length > 0 || CLASSIC.test(one.name ?? '')) return null;
  return { histogram: narrowed(expression.slice(one.from, one.to), labels), limit: raise };
}

export function ruleChart(
  rule: EvaluatedRule,
  alert: Pick<AlertFacts, 'labels'> & { readonly limit?: number | null },
): RuleChart {
  const { expression, raise, raiseForSeconds, form } = rule.input;
  // Of a band the end that the alert is of.
  const { direction, limit } = limitOf(rule.input, alert.limit ?? raise);
  const alone = narrowed(expression, alert.labels);
  const found = histogramOf(rule, alert.labels);
  return {
    expression: alone ?? expression,
    alone: alone !== null,
    histogram: found?.histogram ?? null,
    limit: found === null || found.histogram === null ? limit : found.limit,
    direction,
    windowSeconds: Math.max(raiseForSeconds, form?.overSeconds ?? 0),
  };
}

export interface LastHour {
  readonly start: number;
  readonly end: number;
  readonly points: readonly (readonly [time: number, value: number])[];
  readonly limit: number;
  /** Of the values and the limit, as `bytes/s`. */
  readonly unit: string;
}

/** The values of the alert's own series up to a time; null when it has none. */
export async function lastHour(
  storaged: Pick<Storaged, 'queryRange'>,
  end: number,
  { expression, limit }: RuleChart,
  alert: Pick<AlertFacts, 'labels' | 'limit' | 'unit'>,
): Promise<LastHour | null> {
  const start = end - 3600;
  const all = await storaged.queryRange(expression, start, end, 30);
  const key = seriesKey(alert.labels);
  const found = all.find(({ labels }) => seriesKey(labels) === key);
  return found === undefined
    ? null
    : { start, end, points: found.values, limit: alert.limit ?? limit, unit: alert.unit ?? '' };
}
