import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  afterGap,
  initial,
  limitOf,
  limitsProblem,
  type Rule,
  type SeriesRecord,
  type Signal,
  step,
  worseOf,
} from './machine.ts';

const rule: Rule = {
  direction: 'above',
  raise: 10,
  clear: 8,
  raiseForSeconds: 60,
  clearForSeconds: 30,
  repostSeconds: 300,
};

/** Runs values through the machine, `every` seconds apart; `null` is no value. */
function play(settings: Rule, values: (number | null)[], every = 10) {
  let record = initial(0);
  const signals: [number, Signal][] = [];
  const states: string[] = [];
  values.forEach((value, at) => {
    const { after, signal } = step(settings, record, value, at * every * 1000);
    record = after;
    states.push(after.state);
    if (signal !== null) signals.push([at * every, signal]);
  });
  return { signals, states, record };
}
const times = (value: number | null, count: number) => Array.from({ length: count }, () => value);

test('beyond the limit for the minimum time: raised once; within the clear limit for its time: cleared once', () => {
  const { signals, states } = play(rule, [5, ...times(11, 10), 9, 9, ...times(7, 5), 5]);
  assert.deepEqual(signals, [
    [70, 'raise'],
    [160, 'clear'],
  ]);
  assert.deepEqual(states.slice(0, 3), ['ok', 'raising', 'raising']);
  assert.equal(states[12], 'active', 'between the limits it stays active');
});

test('a spike shorter than the minimum time raises nothing, and the time begins anew', () => {
  assert.deepEqual(play(rule, [...times(11, 5), 5, ...times(11, 5), 5]).signals, []);
});

test('a dip shorter than the clear time clears nothing', () => {
  assert.deepEqual(play(rule, [...times(11, 7), 7, 7, 11, 7, 7, 11]).signals, [[60, 'raise']]);
});

test('no minimum time: raised and cleared at once', () => {
  const quick = { ...rule, raiseForSeconds: 0, clearForSeconds: 0 };
  assert.deepEqual(play(quick, [11, 5]).signals, [
    [0, 'raise'],
    [10, 'clear'],
  ]);
});

test('exactly at the limits', () => {
  const quick = { ...rule, raise: 10, clear: 10, raiseForSeconds: 0, clearForSeconds: 0 };
  assert.deepEqual(play(quick, [10, 10.001, 10]).signals, [
    [10, 'raise'],
    [20, 'clear'],
  ]);
});

test('below: the other way round', () => {
  const low: Rule = { ...rule, direction: 'below', raise: 2, clear: 4, raiseForSeconds: 0, clearForSeconds: 0 };
  assert.deepEqual(play(low, [3, 1, 3, 4]).signals, [
    [10, 'raise'],
    [30, 'clear'],
  ]);
});

test('repeated at the interval while it is active, never while it is clearing or without data', () => {
  const { signals } = play({ ...rule, raiseForSeconds: 0, clearForSeconds: 10_000 }, [
    ...times(11, 62),
    ...times(null, 60),
    ...times(7, 60),
    11,
  ]);
  assert.deepEqual(signals, [
    [0, 'raise'],
    [300, 'repost'],
    [600, 'repost'],
    [1820, 'repost'],
  ]);
  assert.deepEqual(play({ ...rule, raiseForSeconds: 0, repostSeconds: 0 }, times(11, 500)).signals, [[0, 'raise']]);
});

test('no data: nothing is raised, nothing is cleared, and it goes on where it was', () => {
  const quick = { ...rule, raiseForSeconds: 0, clearForSeconds: 0, repostSeconds: 0 };
  const { signals, states } = play(quick, [11, null, null, 11, null, 5]);
  assert.deepEqual(signals, [
    [0, 'raise'],
    [50, 'clear'],
  ]);
  assert.deepEqual(states, ['active', 'no_data', 'no_data', 'active', 'no_data', 'ok']);
  assert.equal(
    play(rule, [...times(11, 6), null, ...times(11, 6)]).signals.length,
    0,
    'a minimum time that was running begins anew',
  );
  assert.equal(play(quick, [Number.NaN]).states[0], 'no_data');
});

test('infinity is beyond every limit', () => {
  assert.deepEqual(play({ ...rule, raiseForSeconds: 0 }, [Number.POSITIVE_INFINITY]).signals, [[0, 'raise']]);
  assert.deepEqual(play({ ...rule, raiseForSeconds: 0 }, [Number.NEGATIVE_INFINITY]).signals, []);
});

test('after a gap a running minimum time begins anew', () => {
  const raising: SeriesRecord = { state: 'raising', since: 0, alerted: false, lastSentAt: null };
  const now = 3_600_000;
  assert.equal(step(rule, raising, 11, now).signal, 'raise', 'without the gap it would be due');
  assert.equal(step(rule, afterGap(raising, now), 11, now).signal, null);
  const active: SeriesRecord = { state: 'active', since: 0, alerted: true, lastSentAt: 0 };
  assert.deepEqual(afterGap(active, now), active);
});

test('limits that contradict each other', () => {
  assert.equal(limitsProblem(rule), null);
  assert.equal(limitsProblem({ ...rule, clear: 10 }), null);
  assert.notEqual(limitsProblem({ ...rule, clear: 11 }), null);
  assert.notEqual(limitsProblem({ ...rule, direction: 'below', raise: 2, clear: 1 }), null);
});

test('a band: raised beyond either end, cleared between both', () => {
  const band: Rule = { ...rule, direction: 'outside', raise: 10, clear: 9, raiseBelow: 2, clearBelow: 3 };
  const quick = { ...band, raiseForSeconds: 0, clearForSeconds: 0 };
  assert.deepEqual(play(quick, [5, 11, 9.5, 9, 1.9, 2.5, 3, 2, 10]).signals, [
    [10, 'raise'],
    [30, 'clear'],
    [40, 'raise'],
    [60, 'clear'],
  ]);
  // From one end to the other it was never well.
  assert.deepEqual(play(quick, [11, 1, 5]).signals, [
    [0, 'raise'],
    [20, 'clear'],
  ]);
  assert.deepEqual(limitOf(band, 12), { direction: 'above', limit: 10 });
  assert.deepEqual(limitOf(band, -40), { direction: 'below', limit: 2 });
  assert.equal(worseOf(band, 12, 1), 12);
  assert.equal(worseOf(band, 12, -3), -3);
  assert.equal(worseOf({ ...rule, direction: 'below' }, 4, 5), 4);
  const path = (change: Partial<Rule>) => limitsProblem({ ...band, ...change })?.path ?? null;
  assert.equal(path({}), null);
  assert.equal(path({ raiseBelow: 10, clearBelow: 10 }), '/raiseBelow');
  assert.equal(path({ clear: 11 }), '/clear');
  assert.equal(path({ clearBelow: 1 }), '/clearBelow');
  assert.equal(path({ clearBelow: 9.5 }), '/clear');
  const { raiseBelow: _, clearBelow: __, ...half } = band;
  assert.equal(limitsProblem(half)?.path, '/raiseBelow');
  assert.equal(path({ direction: 'above' }), '/raiseBelow');
});

/** A small generator with a seed, so that a failure can be played again. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

test('whatever happens: raise and clear alternate, times are kept, nothing is repeated early', () => {
  for (let seed = 1; seed <= 400; seed++) {
    const next = random(seed);
    const pick = <T>(...items: T[]) => items[Math.floor(next() * items.length)] as T;
    const direction = pick('above' as const, 'below' as const);
    const raise = Math.floor(next() * 10);
    const gap = Math.floor(next() * 4);
    const settings: Rule = {
      direction,
      raise,
      clear: direction === 'above' ? raise - gap : raise + gap,
      raiseForSeconds: pick(0, 5, 30, 60),
      clearForSeconds: pick(0, 5, 30, 60),
      repostSeconds: pick(0, 20, 100),
    };
    let record = initial(0);
    let now = 0;
    let active = false;
    let lastSent = Number.NEGATIVE_INFINITY;
    /** Since when every value has been beyond the raise limit, or within the clear limit. */
    let beyondSince: number | null = null;
    let withinSince: number | null = null;
    for (let n = 0; n < 300; n++) {
      now += pick(1, 5, 5, 5, 17) * 1000;
      const value = next() < 0.1 ? null : Math.floor(next() * 14) - 2;
      const beyond = value !== null && (direction === 'above' ? value > settings.raise : value < settings.raise);
      const within = value !== null && (direction === 'above' ? value <= settings.clear : value >= settings.clear);
      beyondSince = beyond ? (beyondSince ?? now) : null;
      withinSince = within ? (withinSince ?? now) : null;
      const { after, signal } = step(settings, record, value, now);
      const context = JSON.stringify({ seed, n, settings, record, value, now, signal });
      if (signal === 'raise') {
        assert.equal(active, false, context);
        assert.ok(beyondSince !== null && now - beyondSince >= settings.raiseForSeconds * 1000, context);
        active = true;
        lastSent = now;
      } else if (signal === 'clear') {
        assert.equal(active, true, context);
        assert.ok(withinSince !== null && now - withinSince >= settings.clearForSeconds * 1000, context);
        active = false;
      } else if (signal === 'repost') {
        assert.equal(active, true, context);
        assert.ok(settings.repostSeconds > 0 && now - lastSent >= settings.repostSeconds * 1000, context);
        lastSent = now;
      } else {
        // Nothing that was due is missed.
        const dueRaise = !active && beyondSince !== null && now - beyondSince >= settings.raiseForSeconds * 1000;
        const dueClear = active && withinSince !== null && now - withinSince >= settings.clearForSeconds * 1000;
        assert.ok(!dueRaise && !dueClear, context);
      }
      assert.equal(after.alerted, active, context);
      assert.equal(after.state === 'no_data', value === null, context);
      // What is written to disk and read back is the same record.
      record = JSON.parse(JSON.stringify(after));
    }
  }
});
