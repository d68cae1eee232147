// A heatmap's bins as a grid of cells, and each cell's shade.
//
// Shading is by rank: a cell's shade is its place among the cells that hold anything, not its count. One very full cell
// therefore does not wash out the rest, and a single outlier is as visible as it deserves.
import type { HeatmapColumn } from '../api/telemetry.ts';

export type Scale = 'log' | 'linear';

export interface Grid {
  readonly rows: number;
  readonly columns: number;
  /** rows × columns, row 0 at the bottom; how many events, shares of wide bins included. */
  readonly counts: Float64Array;
  readonly lower: number;
  readonly upper: number;
  readonly scale: Scale;
  /** How many events the trimming left out above `upper`. */
  readonly above: number;
}

export interface GridOptions {
  readonly start: number;
  readonly step: number;
  readonly columns: number;
  readonly rows: number;
  readonly scale: Scale;
  /** The share of all events that may be cut off at the top: outliers that would squeeze the rest. 0 = show all. */
  readonly trim: number;
}

/** Where a value stands between lower and upper, 0..1. */
export function place(value: number, { lower, upper, scale }: Pick<Grid, 'lower' | 'upper' | 'scale'>): number {
  if (scale === 'linear') return (value - lower) / (upper - lower);
  if (value <= 0) return 0;
  return Math.log(value / lower) / Math.log(upper / lower);
}

/** The value at a place: the inverse of `place`. */
export function valueAt(at: number, { lower, upper, scale }: Pick<Grid, 'lower' | 'upper' | 'scale'>): number {
  return scale === 'linear' ? lower + at * (upper - lower) : lower * (upper / lower) ** at;
}

/** The range of values to draw, and how many events are trimmed off above it. */
export function extent(columns: readonly HeatmapColumn[], scale: Scale, trim: number) {
  const bins = columns.flatMap((column) => column.bins).filter(([, , count]) => count > 0);
  if (bins.length === 0) return { lower: scale === 'log' ? 0.001 : 0, upper: 1, above: 0 };
  const total = bins.reduce((sum, [, , count]) => sum + count, 0);
  let upper = 0;
  let above = 0;
  for (const [, high, count] of bins.sort((a, b) => b[1] - a[1])) {
    upper = high;
    if (above + count > total * trim) break;
    above += count;
  }
  if (scale === 'linear') {
    const lower = Math.min(0, ...bins.map(([low]) => low));
    return { lower, upper: upper > lower ? upper : lower + 1, above };
  }
  const positive = bins.filter(([, high]) => high > 0).map(([low, high]) => (low > 0 ? low : high));
  const lower = positive.length > 0 ? Math.min(...positive) : upper > 0 ? upper / 10 : 0.001;
  return { lower, upper: upper > lower ? upper : lower * 10, above };
}

export function gridOf(columns: readonly HeatmapColumn[], options: GridOptions): Grid {
  const { rows, scale, start, step } = options;
  const range = { ...extent(columns, scale, options.trim), scale };
  const counts = new Float64Array(rows * options.columns);
  for (const column of columns) {
    const x = Math.round((column.time - start) / step);
    if (x < 0 || x >= options.columns) continue;
    for (const [low, high, count] of column.bins) {
      const from = place(low, range) * rows;
      const to = place(high, range) * rows;
      if (from >= rows) continue;
      const first = Math.max(0, Math.floor(from));
      const last = Math.min(rows - 1, Math.max(first, Math.ceil(to) - 1));
      // A bin wider than a row is spread evenly over those it covers, so that its darkness is its density.
      const share = count / (last - first + 1);
      for (let y = first; y <= last; y += 1) {
        const cell = y * options.columns + x;
        counts[cell] = (counts[cell] as number) + share;
      }
    }
  }
  return { rows, columns: options.columns, counts, ...range };
}

/** A shade per cell: 0 for an empty one, else its rank in (0, 1]. Equal counts have equal shades. */
export function rankShades(counts: Float64Array): Float32Array {
  const shades = new Float32Array(counts.length);
  const held = [...new Set(counts.filter((count) => count > 0))].sort((a, b) => a - b);
  const ranks = new Map(held.map((count, index) => [count, (index + 1) / held.length]));
  for (const [index, count] of counts.entries()) if (count > 0) shades[index] = ranks.get(count) as number;
  return shades;
}

/** Log unless the values lie within one decade and a half, where a linear axis says more. */
export function naturalScale(columns: readonly HeatmapColumn[]): Scale {
  const { lower, upper } = extent(columns, 'log', 0);
  return upper / lower > 30 ? 'log' : 'linear';
}
