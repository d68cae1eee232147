// Whether what a chart shows repeats, and how often: a job that runs every ten minutes is seen by its rhythm before anybody
// knows its name.
//
// For each time P up to a quarter of what is seen, the change over a quarter of P is compared with the same a P earlier, by
// Pearson's correlation: a trend, and a walk without aim, have no changes that come back. The shortest P counts that is a
// peak, nearly as good as the best, and good after two and three P: what came twice by chance did not come four times.
// On noise, noise that remembers, random walks and spikes at random this names a time in fewer than 1 of 200 charts, on walks
// with momentum in 1 of 50 (ui/tests/repeats.test.ts).

import { duration } from '../words/format.ts';

/** Fewer values show nothing. */
const FEWEST = 48;
/** So many times it has to have come. */
const TIMES = 5;
/** As many steps at least: what is shorter is no shape. */
const SHORTEST = 6;
/** More values than this are put together: the eye sees no more, and the time grows with their square. */
const MOST = 720;
/** How alike the changes have to be. */
const ALIKE = 0.6;
const ALIKE_AGAIN = 0.5;
/** A multiple of the time is as good as the time itself, but for chance. */
const NEARLY = 0.85;
/** Of all values so many may be missing. */
const MISSING = 0.1;

/** Means of `by` values each; NaN where none is. */
function thinned(values: Float64Array, by: number): Float64Array {
  return Float64Array.from({ length: Math.floor(values.length / by) }, (_, i) => {
    let [sum, there] = [0, 0];
    for (const value of values.subarray(i * by, (i + 1) * by)) {
      if (Number.isNaN(value)) continue;
      sum += value;
      there += 1;
    }
    return there === 0 ? Number.NaN : sum / there;
  });
}

/** Means of three beside each other. */
function smoothed(values: Float64Array): Float64Array {
  const last = values.length - 1;
  return values.map(
    (value, i) => (value + (values[Math.max(0, i - 1)] as number) + (values[Math.min(last, i + 1)] as number)) / 3,
  );
}

/** How alike the changes over `change` places are to those of `lag` places before: −1 … 1. */
function alike(values: Float64Array, change: number, lag: number): number {
  let [n, sx, sy, sxx, syy, sxy] = [0, 0, 0, 0, 0, 0];
  for (let i = lag + change; i < values.length; i += 1) {
    const x = (values[i] as number) - (values[i - change] as number);
    const y = (values[i - lag] as number) - (values[i - lag - change] as number);
    n += 1;
    sx += x;
    sy += y;
    sxx += x * x;
    syy += y * y;
    sxy += x * y;
  }
  const spread = Math.sqrt((sxx - (sx * sx) / n) * (syy - (sy * sy) / n));
  return spread > 0 ? (sxy - (sx * sy) / n) / spread : 0;
}

/** Between the places beside `lag`: the top of the parabola through the three. */
function top(values: Float64Array, change: number, lag: number): number {
  const [before, here, after] = [-1, 0, 1].map((by) => alike(values, change, lag + by)) as [number, number, number];
  const bend = before - 2 * here + after;
  const moved = bend < 0 ? (before - after) / (2 * bend) : 0;
  return lag + Math.max(-1, Math.min(1, moved));
}

/** How often the values repeat, in places; null: they do not, or too few are there. */
function places(values: Float64Array): number | null {
  const longest = Math.floor(values.length / TIMES);
  const scores = new Float64Array(longest + 2);
  for (let lag = SHORTEST - 1; lag < scores.length; lag += 1) {
    scores[lag] = alike(values, Math.max(1, Math.round(lag / 4)), lag);
  }
  const best = Math.max(...scores.subarray(SHORTEST, longest + 1));
  if (best < ALIKE) return null;
  for (let lag = SHORTEST; lag <= longest; lag += 1) {
    const [before, here, after] = [scores[lag - 1] as number, scores[lag] as number, scores[lag + 1] as number];
    if (here < NEARLY * best || here < before || here < after) continue;
    const change = Math.max(1, Math.round(lag / 4));
    if ([2, 3].some((times) => alike(values, change, times * lag) < ALIKE_AGAIN)) continue;
    // What comes every 12 places comes every 36 as well, and through noise a longer change may tell it better.
    for (let parts = 6; parts > 1; parts -= 1) {
      const part = Math.round(lag / parts);
      if (part >= SHORTEST && alike(values, change, part) >= NEARLY * here) return top(values, change, part);
    }
    return top(values, change, lag);
  }
  return null;
}

/** How often values that are `step` seconds apart repeat, in seconds; null: they do not, or too few are there. */
export function periodOf(values: Float64Array, step: number): number | null {
  const first = values.findIndex((value) => !Number.isNaN(value));
  if (first < 0) return null;
  const by = Math.ceil((values.length - first) / MOST);
  const thin = thinned(values.subarray(first), by);
  if (thin.length < FEWEST) return null;
  let missing = 0;
  for (let i = 0; i < thin.length; i += 1) {
    if (!Number.isNaN(thin[i] as number)) continue;
    missing += 1;
    thin[i] = thin[i - 1] ?? 0;
  }
  if (missing > MISSING * thin.length) return null;
  // A peak of a single value that comes a little early or late is met when it is as broad as three.
  const found = places(thin) ?? places(smoothed(thin));
  return found === null ? null : found * by * step;
}

/** Times that people set: the nearest of them is meant when it is as near as one can tell. */
const USUAL = [5, 10, 15, 20, 30, 60, 120, 180, 300, 600, 900, 1200, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400];

/** @param within seconds that one cannot tell apart */
function usual(period: number, within: number): number {
  const nearest = USUAL.reduce((a, b) => (Math.abs(b - period) < Math.abs(a - period) ? b : a));
  return Math.abs(nearest - period) <= within ? nearest : period;
}

export interface Line {
  readonly text: string;
  readonly values: Float64Array;
}

/**
 * "Repeats every 10 minutes", "web1 and web2 repeat every 10 minutes", "7 of 24 lines repeat …"; null: nothing does. When
 * lines repeat differently, those are named that most of them share.
 * @param step seconds between two values
 */
export function repeatsInWords(lines: readonly Line[], step: number): string | null {
  const found = lines.flatMap(({ text, values }) => {
    const period = periodOf(values, step);
    return period === null ? [] : [{ text, every: duration(usual(period, Math.max(step, period / 50))) }];
  });
  const [most] = [...Map.groupBy(found, ({ every }) => every)].sort(([, a], [, b]) => b.length - a.length);
  if (most === undefined) return null;
  const [every, alike] = most;
  if (lines.length === 1) return `Repeats every ${every}`;
  if (alike.length > 2) return `${alike.length} of ${lines.length} lines repeat every ${every}`;
  return `${alike.map(({ text }) => text).join(' and ')} ${alike.length === 1 ? 'repeats' : 'repeat'} every ${every}`;
}
