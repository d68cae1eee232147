// The state of one series under one rule. A pure function of what was, what is, and the time, so that every way
// through it can be tested.
//
//   ok ──beyond raise──▶ raising ──for raiseForSeconds──▶ active ──within clear──▶ clearing ──for clearForSeconds──▶ ok
//                        │ back: ok                       ▲ beyond clear again: active ┘
//   no value: `no_data`. What was active stays so underneath, and is neither cleared nor repeated unseen.
import type { SeriesState, ThresholdInput } from './schema.ts';

export type Rule = Pick<
  ThresholdInput,
  | 'direction'
  | 'raise'
  | 'clear'
  | 'raiseBelow'
  | 'clearBelow'
  | 'raiseForSeconds'
  | 'clearForSeconds'
  | 'repostSeconds'
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

type Limits = Pick<Rule, 'direction' | 'raise' | 'clear' | 'raiseBelow' | 'clearBelow'>;

interface Side {
  readonly direction: 'above' | 'below';
  readonly raise: number;
  readonly clear: number;
}

/** A band is an upper limit and a lower one. */
function sidesOf({ direction, raise, clear, raiseBelow, clearBelow }: Limits): Side[] {
  if (direction !== 'outside') return [{ direction, raise, clear }];
  const above: Side = { direction: 'above', raise, clear };
  if (raiseBelow === undefined) return [above];
  return [above, { direction: 'below', raise: raiseBelow, clear: clearBelow ?? raiseBelow }];
}

const beyond = (side: Pick<Side, 'direction' | 'raise'>, value: number) =>
  side.direction === 'above' ? value > side.raise : value < side.raise;
/** At the clear limit counts as within it, so that equal limits leave no gap and no overlap. */
const within = (side: Side, value: number) => (side.direction === 'above' ? value <= side.clear : value >= side.clear);

export const beyondRaise = (rule: Limits, value: number) => sidesOf(rule).some((side) => beyond(side, value));
const withinClear = (rule: Limits, value: number) => sidesOf(rule).every((side) => within(side, value));

/** The limit that a value is beyond, or nearest to. */
export function limitOf(rule: Limits, value: number): { direction: 'above' | 'below'; limit: number } {
  const [first, second] = sidesOf(rule) as [Side, Side?];
  const nearer = second !== undefined && Math.abs(value - second.raise) < Math.abs(value - first.raise);
  const side = nearer ? second : first;
  return { direction: side.direction, limit: side.raise };
}

/** Of two values that are beyond a limit the one that is farther. */
export function worseOf(rule: Limits, one: number, other: number): number {
  const far = (value: number) => {
    const { direction, limit } = limitOf(rule, value);
    return direction === 'above' ? value - limit : limit - value;
  };
  return far(other) > far(one) ? other : one;
}

interface LimitsProblem {
  readonly path: string;
  readonly message: string;
}

/** Why a rule's limits contradict each other, or null. */
export function limitsProblem(rule: Limits): LimitsProblem | null {
  const { direction, raise, raiseBelow, clearBelow } = rule;
  const given = raiseBelow !== undefined || clearBelow !== undefined;
  if (direction !== 'outside')
    return given ? { path: '/raiseBelow', message: 'is for the direction “outside” only' } : sideProblem(rule);
  if (raiseBelow === undefined) return { path: '/raiseBelow', message: 'is missing: a band has two ends' };
  if (raiseBelow >= raise) return { path: '/raiseBelow', message: 'must be below the upper limit: nothing is between' };
  const wrong = sideProblem(rule);
  if (wrong !== null) return wrong;
  if (rule.clear < (clearBelow ?? raiseBelow))
    return { path: '/clear', message: 'must not be below the lower limit for the all-clear: it would never clear' };
  return null;
}

function sideProblem(rule: Limits): LimitsProblem | null {
  for (const { direction, raise, clear } of sidesOf(rule)) {
    const path = direction === rule.direction || direction === 'above' ? '/clear' : '/clearBelow';
    const why = 'the raise limit: an alert would clear while it is being raised';
    if (direction === 'above' ? clear > raise : clear < raise)
      return { path, message: `must not be ${direction} ${why}` };
  }
  return null;
}

/** What a rule would say of a value without any history: for the preview. */
export const wouldBe = (rule: Limits, value: number): 'ok' | 'active' => (beyondRaise(rule, value) ? 'active' : 'ok');

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
