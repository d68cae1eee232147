// The lines of a chart, as they are stacked and listed: named, in an order and with colours that stay while values move.
import type { SeriesFrame } from '../api/columns.ts';

export interface NamedLine {
  /** What it is called in the list and the address. */
  readonly key: string;
  readonly text: string;
  /** Its place among the colours; −1: what is summed up, in grey. */
  readonly colour: number;
  readonly values: Float64Array;
  /** Whether one can go on from it: the rest is no single value. */
  readonly drillable: boolean;
}

export interface Stats {
  readonly average: number;
  readonly min: number;
  readonly max: number;
  /** Over the time that is seen, in units, not in units per second. */
  readonly sum: number;
  readonly last: number;
}

/** More lines than this cannot be told apart; what is beyond is drawn as one, or not at all. */
export const MAX_DRAWN = 24;
/** At so many moments it is compared how far lines are from the others; a chart is drawn each second. */
const COMPARED_AT = 30;

/** Which places in a frame lie within a time: `from` to `until`, the latter not included. */
export function within(
  { start, step, count }: Pick<SeriesFrame, 'start' | 'step' | 'count'>,
  from: number,
  until: number,
) {
  return [
    Math.min(Math.max(Math.ceil((from - start) / step), 0), count),
    Math.min(Math.max(Math.floor((until - start) / step) + 1, 0), count),
  ] as const;
}

export function statsOf(values: Float64Array, from: number, until: number, step: number): Stats {
  let [sum, count, min, max, last] = [0, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN];
  for (let i = from; i < until; i += 1) {
    const value = values[i] as number;
    if (Number.isNaN(value)) continue;
    sum += value;
    count += 1;
    if (value < min) min = value;
    if (value > max) max = value;
    last = value;
  }
  if (count === 0) return { average: Number.NaN, min: Number.NaN, max: Number.NaN, sum: 0, last: Number.NaN };
  return { average: sum / count, min, max, sum: sum * step, last };
}

/** The last value that there is; NaN without any. */
export function lastValue(values: Float64Array): number {
  return values.findLast((value) => !Number.isNaN(value)) ?? Number.NaN;
}

function mean(values: Float64Array): number {
  let sum = 0;
  for (const value of values) if (!Number.isNaN(value)) sum += value;
  return sum / Math.max(1, values.length);
}

/** How far each of some lines is from the median of all of them, on average over moments that are spread over the time. */
function differences(lines: readonly { readonly values: Float64Array }[], count: number): number[] {
  const sums = new Float64Array(lines.length);
  const step = Math.max(1, Math.floor(count / COMPARED_AT));
  for (let place = count - 1; place >= 0; place -= step) {
    const measured = new Float64Array(lines.length);
    let there = 0;
    for (const { values } of lines)
      if (!Number.isNaN(values[place] as number)) measured[there++] = values[place] as number;
    if (there === 0) continue;
    const median = measured.subarray(0, there).sort()[there >> 1] as number;
    lines.forEach(({ values }, at) => {
      const value = values[place] as number;
      if (!Number.isNaN(value)) sums[at] = (sums[at] as number) + Math.abs(value - median);
    });
  }
  return [...sums];
}

/** Remembers the colour of every key it has seen. */
export class Colours {
  readonly #known = new Map<string, number>();
  of(key: string): number {
    let found = this.#known.get(key);
    if (found === undefined) {
      found = this.#known.size;
      this.#known.set(key, found);
    }
    return found;
  }
}

export interface Named {
  readonly key: string;
  readonly text: string;
  readonly rest?: boolean;
}

export interface Lines {
  readonly all: readonly NamedLine[];
  /** Those that are drawn each for itself: the greatest of amounts, and of other values those that differ most from the median of all. */
  readonly drawn: readonly NamedLine[];
  /** Whether something was measured at all, place by place. */
  readonly total: Float64Array;
  /** The parts add up to the total that was measured beside them: stacking them says something. */
  readonly additive: boolean;
}

/** Rounding, and a process that ended within the second. */
const ADDS_UP = 0.05;

function addsUp(parts: readonly NamedLine[], total: Float64Array): boolean {
  let [measured, off] = [0, 0];
  for (let i = 0; i < total.length; i += 1) {
    const whole = total[i] as number;
    if (Number.isNaN(whole) || whole === 0) continue;
    let sum = 0;
    for (const { values } of parts) if (!Number.isNaN(values[i] as number)) sum += values[i] as number;
    measured += 1;
    if (Math.abs(sum - whole) > ADDS_UP * Math.abs(whole)) off += 1;
  }
  return parts.length > 0 && measured > 0 && off < measured / 10;
}

/**
 * `name` gives null for the total of each second. A place where it, or without it every line, has no value is a gap; where
 * only a value of the breakdown has none, that value did not occur.
 */
export function linesOf(
  frame: SeriesFrame,
  name: (labels: Readonly<Record<string, string>>) => Named | null,
  colours: Colours,
  maxDrawn = MAX_DRAWN,
  /** The values of different lines are amounts: those that are not drawn each for itself are drawn as their sum. */
  amount = true,
): Lines {
  const found: { named: Named; values: Float64Array; mean: number }[] = [];
  let total: Float64Array | undefined;
  for (const { labels, values } of frame.lines) {
    const named = name(labels);
    if (named === null) total = values;
    else found.push({ named, values, mean: mean(values) });
  }
  // The greatest first, when they are met for the first time: they are at the bottom of the stack and keep that place.
  found.sort((a, b) => b.mean - a.mean || (a.named.key < b.named.key ? -1 : 1));
  const all = found.map(
    ({ named, values }): NamedLine => ({
      key: named.key,
      text: named.text,
      values,
      colour: named.rest ? -1 : colours.of(named.key),
      drillable: !named.rest,
    }),
  );
  const additive = total !== undefined && addsUp(all, total);
  if (total === undefined) {
    total = new Float64Array(frame.count).fill(Number.NaN);
    for (const { values } of all) {
      for (let i = 0; i < frame.count; i += 1) {
        const value = values[i] as number;
        if (!Number.isNaN(value)) total[i] = Number.isNaN(total[i] as number) ? value : (total[i] as number) + value;
      }
    }
  }
  const parts = amount || additive;
  let drawn = all.slice(0, maxDrawn);
  const left = all.slice(maxDrawn);
  if (left.length > 0 && !parts) {
    // The one that is far below the others says as much as one that is above them.
    const apart = differences(all, frame.count);
    const order = all.map((_, at) => at).sort((a, b) => (apart[b] as number) - (apart[a] as number) || a - b);
    drawn = order.slice(0, maxDrawn).map((at) => all[at] as NamedLine);
  }
  if (left.length > 0 && parts) {
    const values = new Float64Array(frame.count).fill(Number.NaN);
    for (const line of left) {
      for (let i = 0; i < frame.count; i += 1) {
        const value = line.values[i] as number;
        if (!Number.isNaN(value)) values[i] = (Number.isNaN(values[i] as number) ? 0 : (values[i] as number)) + value;
      }
    }
    drawn.push({ key: '\u0000others', text: `${left.length} others`, colour: -1, values, drillable: false });
  }
  drawn.sort((a, b) => (a.colour < 0 ? 1e9 : a.colour) - (b.colour < 0 ? 1e9 : b.colour));
  return { all, drawn, total, additive };
}
