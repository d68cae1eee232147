// Runs a rule over the past, through the same state machine that evaluates it, and says when it would have fired.
import { iso } from '../../base/clock.ts';
import type { RangeSeries } from '../../peers/storaged.ts';
import { within } from './hours.ts';
import { initial, type Rule, step } from './machine.ts';
import type { Firing, Hours } from './schema.ts';

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
          limit.worst = rule.direction === 'above' ? Math.max(one, other) : Math.min(one, other);
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
