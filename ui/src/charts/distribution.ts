// One column of a heatmap, as numbers: its quantiles, and how many lie beyond a limit.
import type { HeatmapColumn, OverColumn } from '../api/telemetry.ts';
import { compact, digits, quantity, type Unit } from '../words/format.ts';

export type Bins = HeatmapColumn['bins'];

export function total(bins: Bins): number {
  return bins.reduce((sum, [, , count]) => sum + count, 0);
}

/** Several columns as one: histograms merge by adding the counts of equal bins. */
export function merge(columns: readonly Bins[]): Bins {
  const merged = new Map<string, [number, number, number]>();
  for (const [lower, upper, count] of columns.flat()) {
    const key = `${lower} ${upper}`;
    const bin = merged.get(key);
    if (bin === undefined) merged.set(key, [lower, upper, count]);
    else bin[2] += count;
  }
  return [...merged.values()].sort((a, b) => a[0] - b[0]);
}

/** The value below which the share q of the events lies, interpolated within its bin; undefined for no events. */
export function quantile(bins: Bins, q: number): number | undefined {
  const sorted = [...bins].filter(([, , count]) => count > 0).sort((a, b) => a[0] - b[0]);
  const wanted = total(sorted) * q;
  let seen = 0;
  for (const [lower, upper, count] of sorted) {
    if (seen + count >= wanted) return lower + (upper - lower) * Math.max(0, (wanted - seen) / count);
    seen += count;
  }
  return sorted.at(-1)?.[1];
}

export const shownQuantiles: readonly [name: string, q: number][] = [
  ['p50', 0.5],
  ['p90', 0.9],
  ['p99', 0.99],
  ['p99.9', 0.999],
];

/** What is beyond the limit is slower when it is a time, and larger when it is a size. */
export function beyond(unit: Unit): string {
  return unit === 'seconds' ? 'slower than' : unit === 'bytes' ? 'larger than' : 'above';
}

/** "37 of 41,200 slower than 1.5 s (0.09 %)": people first, the percentage after. */
export function overSentence(over: number, count: number, limit: number, unit: Unit): string {
  const whole = (value: number) => Math.round(value).toLocaleString('en-US');
  const share = count > 0 ? (over / count) * 100 : 0;
  const percent =
    share === 0 || share >= 10
      ? Math.round(share)
      : share >= 1
        ? share.toFixed(1)
        : digits(Number(share.toPrecision(1)));
  return `${whole(over)} of ${whole(count)} ${beyond(unit)} ${quantity(limit, unit)} (${percent} %)`;
}

export function overTotal(columns: readonly OverColumn[]): { over: number; count: number } {
  return columns.reduce((sum, column) => ({ over: sum.over + column.over, count: sum.count + column.count }), {
    over: 0,
    count: 0,
  });
}

export function countWords(count: number): string {
  return count === 1 ? '1 event' : `${compact(count)} events`;
}
