// Runs a rule over the past, through the same state machine that evaluates it, and says when it would have fired.

import { type Clock, iso } from '../../base/clock.ts';
import { ExpressionError, type RangeSeries, type Storaged } from '../../peers/storaged.ts';
import { expressionOf } from './forms.ts';
import { mustBeHours, within } from './hours.ts';
import { initial, type Rule, step, worseOf, wouldBe } from './machine.ts';
import { MAX_SERIES, SHOWN_SERIES } from './rule.ts';
import type { Firing, Hours, ThresholdPreview, ThresholdPreviewInput } from './schema.ts';

export interface PastRule extends Rule {
  readonly noDataSeconds: number;
  readonly hours: Hours | null;
}

const finite = (value: number) => Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, value));

/**
 * Every firing of every series, the latest first. `start`, `end` and `stepSeconds` are those of the query; a series begins
 * with its first value, as it does for the evaluation: what it was before is not known.
 */
export function firings(
  rule: PastRule,
  series: readonly RangeSeries[],
  { start, end, stepSeconds }: { start: number; end: number; stepSeconds: number },
): Firing[] {
  const found: Firing[] = [];
  for (const { labels, values } of series) {
    const at = new Map(values.map(([time, value]) => [Math.round((time - start) / stepSeconds), value]));
    let record = initial(start * 1000);
    let begun = false;
    let limit: Firing | null = null;
    let missing: Firing | null = null;
    for (let index = 0; start + index * stepSeconds <= end; index++) {
      const now = (start + index * stepSeconds) * 1000;
      const value = at.get(index) ?? null;
      begun ||= value !== null;
      if (!begun) continue;
      const open = rule.hours === null || within(rule.hours, now);
      const { after, signal } = step(rule, record, value, now, open);
      record = after;
      if (signal === 'raise') {
        const worst = finite(value as number);
        limit = { labels, kind: 'limit', raisedAt: iso(now), clearedAt: null, worst, messages: 1 };
        found.push(limit);
      } else if (limit !== null) {
        if (signal !== null) limit.messages++;
        if (signal === 'clear') {
          limit.clearedAt = iso(now);
          limit = null;
        } else if (value !== null && !Number.isNaN(value)) {
          const [one, other] = [limit.worst ?? value, finite(value)];
          limit.worst = other === null ? one : worseOf(rule, one, other);
        }
      }
      if (after.state !== 'no_data') {
        if (missing !== null) {
          missing.clearedAt = iso(now);
          missing.messages++;
        }
        missing = null;
      } else if (missing === null && open && rule.noDataSeconds > 0) {
        if (now - after.since >= rule.noDataSeconds * 1000) {
          missing = { labels, kind: 'no_data', raisedAt: iso(now), clearedAt: null, worst: null, messages: 1 };
          found.push(missing);
        }
      }
    }
  }
  return found.sort((a, b) => (a.raisedAt < b.raisedAt ? 1 : -1));
}

/** A preview has this many points a series: enough to see, and quickly read. */
const PREVIEW_POINTS = 1_440;
const SHORTEST_STEP_S = 5;
const SHOWN_FIRINGS = 200;

export interface PreviewParts {
  readonly storaged: Pick<Storaged, 'query' | 'queryRange'>;
  readonly clock: Clock;
}

/** What the rule would say now, and when it would have fired. A wrong expression is an answer, not an error. */
export async function preview(
  { storaged, clock }: PreviewParts,
  input: ThresholdPreviewInput,
): Promise<ThresholdPreview> {
  if (input.hours) mustBeHours(input.hours);
  const expression = input.form ? expressionOf(input.form) : input.expression;
  const warnings: string[] = [];
  try {
    const samples = await storaged.query(expression);
    const series = samples.slice(0, SHOWN_SERIES).map(({ labels, value }) => ({
      labels,
      value: finite(value),
      wouldBe: wouldBe(input, value),
    }));
    const beyond = samples.filter(({ value }) => wouldBe(input, value) === 'active').length;
    if (samples.length === 0) warnings.push('No series matches now. The rule waits for one.');
    if (samples.length > MAX_SERIES) {
      warnings.push(`${samples.length} series match; a rule takes ${MAX_SERIES} at most.`);
    }
    if (beyond > 0) {
      const which = samples.length === 1 ? 'It is' : `${beyond} of ${samples.length} series are`;
      warnings.push(`${which} beyond the limit now: the rule would raise at once.`);
    }
    const seconds = input.rangeSeconds ?? 0;
    const end = Math.floor(clock.now() / 1000);
    const stepSeconds = Math.max(SHORTEST_STEP_S, Math.ceil(seconds / PREVIEW_POINTS));
    const before =
      seconds > 0 ? await past(storaged, input, expression, { start: end - seconds, end, stepSeconds }) : null;
    return { expression, series, error: null, errorAt: null, warnings, past: before };
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    return { expression, series: [], error: error.message, errorAt: error.at, warnings: [], past: null };
  }
}

async function past(
  storaged: PreviewParts['storaged'],
  input: ThresholdPreviewInput,
  expression: string,
  range: { start: number; end: number; stepSeconds: number },
): Promise<ThresholdPreview['past']> {
  const { start, end, stepSeconds } = range;
  const series = await storaged.queryRange(expression, start, end, stepSeconds);
  const { direction, raise, clear, raiseBelow, clearBelow } = input;
  const rule = {
    ...{ direction, raise, clear },
    ...(raiseBelow !== undefined && { raiseBelow }),
    ...(clearBelow !== undefined && { clearBelow }),
    raiseForSeconds: input.raiseForSeconds ?? 0,
    clearForSeconds: input.clearForSeconds ?? 0,
    repostSeconds: input.repostSeconds ?? 0,
    noDataSeconds: input.noDataSeconds ?? 0,
    hours: input.hours ?? null,
  };
  const all = firings(rule, series, range);
  return {
    from: iso(start * 1000),
    to: iso(end * 1000),
    stepSeconds,
    series: series.length,
    firings: all.slice(0, SHOWN_FIRINGS),
    leftOut: Math.max(0, all.length - SHOWN_FIRINGS),
  };
}
