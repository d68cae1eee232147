// The state of one series under one rule. A pure function of what was, what is, and the time, so that every way
// through it can be tested.
//
//   ok ──beyond raise──▶ raising ──for raiseForSeconds──▶ active ──within clear──▶ clearing ──for clearForSeconds──▶ ok
//                        │ back: ok                       ▲ beyond clear again: active ┘
//   no value: `no_data`. What was active stays so underneath, and is neither cleared nor repeated unseen.
import type { SeriesState, ThresholdInput } from './schema.ts';

export type Rule = Pick<
  ThresholdInput,
  'direction' | 'raise' | 'clear' | 'raiseForSeconds' | 'clearForSeconds' | 'repostSeconds'
>;

export interface SeriesRecord {
  readonly state: SeriesState;
  /** When it came into this state. */
  readonly since: number;
  /** Whether an alert has been raised for it and not been cleared. */
  readonly alerted: boolean;
  /** When the alert was last raised or repeated. */
  readonly lastSentAt: number | null;
}

export type Signal = 'raise' | 'clear' | 'repost' | null;

export const initial = (now: number): SeriesRecord => ({ state: 'ok', since: now, alerted: false, lastSentAt: null });

export function beyondRaise(rule: Rule, value: number): boolean {
  return rule.direction === 'above' ? value > rule.raise : value < rule.raise;
}

/** At the clear limit counts as within it, so that equal limits leave no gap and no overlap. */
function withinClear(rule: Rule, value: number): boolean {
  return rule.direction === 'above' ? value <= rule.clear : value >= rule.clear;
}

/** Why a rule's limits contradict each other, or null. */
export function limitsProblem(rule: Rule): string | null {
  const wrong = rule.direction === 'above' ? rule.clear > rule.raise : rule.clear < rule.raise;
  if (!wrong) return null;
  return rule.direction === 'above'
    ? 'must not be above the raise limit: an alert would clear while it is being raised'
    : 'must not be below the raise limit: an alert would clear while it is being raised';
}

/** What a rule would say of a value without any history: for the preview. */
export function wouldBe(rule: Pick<Rule, 'direction' | 'raise'>, value: number): 'ok' | 'active' {
  return beyondRaise(rule as Rule, value) ? 'active' : 'ok';
}

/**
 * @param value null when the series has no value now (it is missing, or not a number)
 * @param now milliseconds
 * @param open whether the rule's hours are: outside of them nothing is raised or repeated, but what is well again clears
 */
export function step(
  rule: Rule,
  before: SeriesRecord,
  value: number | null,
  now: number,
  open = true,
): { after: SeriesRecord; signal: Signal } {
  const enter = (state: SeriesState, changes: Partial<SeriesRecord> = {}): SeriesRecord => ({
    ...before,
    since: before.state === state ? before.since : now,
    ...changes,
    state,
  });
  const raise = () => ({ after: enter('active', { alerted: true, lastSentAt: now }), signal: 'raise' as const });
  const clear = () => ({ after: enter('ok', { alerted: false, lastSentAt: null }), signal: 'clear' as const });
  const stay = (after: SeriesRecord) => ({ after, signal: null });

  if (value === null || Number.isNaN(value)) return stay(enter('no_data'));

  if (!before.alerted) {
    if (!open || !beyondRaise(rule, value)) return stay(enter('ok'));
    const since = before.state === 'raising' ? before.since : now;
    return now - since >= rule.raiseForSeconds * 1000 ? raise() : stay(enter('raising'));
  }

  if (withinClear(rule, value)) {
    const since = before.state === 'clearing' ? before.since : now;
    return now - since >= rule.clearForSeconds * 1000 ? clear() : stay(enter('clearing'));
  }
  const after = enter('active');
  const due = open && rule.repostSeconds > 0 && now - (before.lastSentAt ?? now) >= rule.repostSeconds * 1000;
  return due ? { after: { ...after, lastSentAt: now }, signal: 'repost' } : stay(after);
}

/**
 * After time in which nothing was evaluated, it is not known whether the value stayed beyond its limit: a minimum time
 * that was running begins anew.
 */
export function afterGap(before: SeriesRecord, now: number): SeriesRecord {
  const running = before.state === 'raising' || before.state === 'clearing' || before.state === 'no_data';
  return running ? { ...before, since: now } : before;
}
