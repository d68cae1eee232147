// Histograms over time, from the store's own bins: extent, trimming, cells to paint, quantiles, and how many lie beyond a
// limit. Nothing here is estimated but what lies inside of one bin (two significant digits wide).
import { type Bins, type BinsFrame, binBounds } from '../api/columns.ts';
import { compact } from '../words/format.ts';

export type Scale = 'log' | 'linear';
export const NO_BINS: Bins = { at: new Int32Array(), counts: new Float64Array(), total: 0 };

/** Columns whose window lies within a time. */
export function columnsWithin({ start, step, columns }: BinsFrame, from: number, until: number) {
  return [
    Math.min(Math.max(Math.floor((from - start) / step + 1e-9), 0), columns.length),
    Math.min(Math.max(Math.ceil((until - start) / step - 1e-9), 0), columns.length),
  ] as const;
}

export function mergeBins(columns: readonly (Bins | null)[], from = 0, until = columns.length): Bins {
  const counts = new Map<number, number>();
  for (let i = from; i < until; i += 1) {
    const column = columns[i];
    if (!column) continue;
    for (let k = 0; k < column.at.length; k += 1) {
      const bin = column.at[k] as number;
      counts.set(bin, (counts.get(bin) ?? 0) + (column.counts[k] as number));
    }
  }
  const sorted = [...counts].sort((a, b) => a[0] - b[0]);
  return {
    at: Int32Array.from(sorted, ([bin]) => bin),
    counts: Float64Array.from(sorted, ([, count]) => count),
    total: sorted.reduce((sum, [, count]) => sum + count, 0),
  };
}

/** Lower edge, upper edge and count of each bin. */
export function triples({ at, counts }: Bins): [lower: number, upper: number, count: number][] {
  return Array.from(at, (bin, i) => {
    const [lower, upper] = binBounds(bin);
    return [lower, upper, counts[i] as number];
  });
}

export function quantileOf(bins: Bins, q: number): number {
  if (bins.total === 0) return Number.NaN;
  const wanted = bins.total * q;
  let seen = 0;
  for (let k = 0; k < bins.at.length; k += 1) {
    const count = bins.counts[k] as number;
    if (seen + count >= wanted) {
      const [lower, upper] = binBounds(bins.at[k] as number);
      return lower + (upper - lower) * Math.max(0, (wanted - seen) / count);
    }
    seen += count;
  }
  return binBounds(bins.at[bins.at.length - 1] as number)[1];
}

/** How many are greater. Exact when the limit is the edge of a bin; see `onEdge`. */
export function beyondLimit(bins: Bins, limit: number): number {
  let found = 0;
  for (let k = bins.at.length - 1; k >= 0; k -= 1) {
    const [lower, upper] = binBounds(bins.at[k] as number);
    const count = bins.counts[k] as number;
    if (lower >= limit) found += count;
    else if (upper > limit) found += Math.round((count * (upper - limit)) / (upper - lower));
    else break;
  }
  return found;
}

/** The nearest edge of a bin: two significant digits. */
export function onEdge(value: number): number {
  return value === 0 ? 0 : Number(value.toPrecision(2));
}

export interface Extent {
  readonly lower: number;
  readonly upper: number;
  readonly scale: Scale;
  /** Events above `upper`, which are not drawn, and of how many that is. */
  readonly above: number;
  readonly total: number;
}

/** The values to draw: all but the share `trim` at the top. */
export function extentOf(all: Bins, scale: 'auto' | Scale, trim: number): Extent {
  if (all.total === 0) return { lower: scale === 'log' ? 0.001 : 0, upper: 1, scale: 'linear', above: 0, total: 0 };
  let last = all.at.length - 1;
  let above = 0;
  while (last > 0 && above + (all.counts[last] as number) <= all.total * trim) {
    above += all.counts[last] as number;
    last -= 1;
  }
  const upper = binBounds(all.at[last] as number)[1];
  let first = 0;
  while (first < last && binBounds(all.at[first] as number)[0] <= 0) first += 1;
  const positive = binBounds(all.at[first] as number)[0];
  const negative = binBounds(all.at[0] as number)[0];
  // Logarithmic unless the values lie within a decade and a half, where a linear axis says more.
  const chosen = scale !== 'auto' ? scale : negative >= 0 && positive > 0 && upper / positive > 30 ? 'log' : 'linear';
  if (chosen === 'log' && positive > 0) {
    return { lower: positive, upper: upper > positive ? upper : positive * 10, scale: 'log', above, total: all.total };
  }
  const lower = Math.min(0, negative);
  return { lower, upper: upper > lower ? upper : lower + 1, scale: 'linear', above, total: all.total };
}

export function placeOf(value: number, { lower, upper, scale }: Extent): number {
  if (scale === 'linear') return (value - lower) / (upper - lower);
  return value <= 0 ? 0 : Math.log(value / lower) / Math.log(upper / lower);
}
export function valueAtPlace(place: number, { lower, upper, scale }: Extent): number {
  return scale === 'linear' ? lower + place * (upper - lower) : lower * (upper / lower) ** place;
}

/** The rows that a bin covers, and which share of it each of them holds: by their heights on the axis. */
interface Spread {
  readonly first: number;
  readonly shares: readonly number[];
}

function spreadOf(bin: number, extent: Extent, rows: number): Spread {
  const [lower, upper] = binBounds(bin);
  // What was trimmed off lies above the last row; a bin without a height may lie on its edge.
  if (lower >= extent.upper && upper > extent.upper) return { first: rows, shares: [] };
  const place = (value: number) => Math.min(Math.max(placeOf(value, extent), 0), 1) * rows;
  const [from, until] = [place(lower), place(upper)];
  const first = Math.min(Math.floor(from + 1e-9), rows - 1);
  const last = Math.min(Math.max(first, Math.ceil(until - 1e-9) - 1), rows - 1);
  if (last === first) return { first, shares: [1] };
  const shares = Array.from(
    { length: last - first + 1 },
    (_, i) => (Math.min(first + i + 1, until) - Math.max(first + i, from)) / (until - from),
  );
  return { first, shares };
}

/**
 * rows × columns, row 0 at the bottom: how many events are in each cell. A bin is spread over the rows in proportion to how much
 * of their height it covers: as all rows are as high as each other, a cell's number is its count divided by its height.
 */
export function cellsOf(columns: readonly (Bins | null)[], extent: Extent, rows: number): Float64Array {
  const cells = new Float64Array(rows * columns.length);
  /** Worked out once for each bin, not for each column. */
  const spreads = new Map<number, Spread>();
  for (const [x, column] of columns.entries()) {
    if (column === null) continue;
    for (let k = 0; k < column.at.length; k += 1) {
      const bin = column.at[k] as number;
      let spread = spreads.get(bin);
      if (spread === undefined) {
        spread = spreadOf(bin, extent, rows);
        spreads.set(bin, spread);
      }
      const { first, shares } = spread;
      const count = column.counts[k] as number;
      for (let i = 0; i < shares.length; i += 1) {
        const cell = (first + i) * columns.length + x;
        cells[cell] = (cells[cell] as number) + count * (shares[i] as number);
      }
    }
  }
  return cells;
}

// Shading is by rank: a cell's shade is its place, by count per height, among the cells that hold anything. One very full cell
// therefore does not wash out the rest, and a single outlier is as visible as it deserves.

/** A shade per cell: 0 for an empty one, else its rank in (0, 1]. Equal counts have equal shades. */
export function rankShades(counts: Float64Array): Float32Array {
  const shades = new Float32Array(counts.length);
  // What differs by how it was added up only is equal.
  const rounded = counts.map((count) => (count > 0 ? Math.max(Math.round(count * 1024), 1) : 0));
  const counted = [...new Set(rounded)].filter((count) => count > 0).sort((a, b) => a - b);
  const ranks = new Map(counted.map((count, index) => [count, (index + 1) / counted.length]));
  for (const [index, count] of rounded.entries()) if (count > 0) shades[index] = ranks.get(count) as number;
  return shades;
}

export const shownQuantiles: readonly [name: string, q: number][] = [
  ['p50', 0.5],
  ['p90', 0.9],
  ['p99', 0.99],
  ['p99.9', 0.999],
];

export function countWords(count: number): string {
  return count === 1 ? '1 event' : `${compact(count)} events`;
}
