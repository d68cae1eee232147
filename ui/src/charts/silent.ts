// Whether what a live chart shows has stopped: its last value is further from the end of what was read than its values are
// from each other. Compared with what was read, and not with the clock: a page that slept claims nothing.
import type { SeriesFrame } from '../api/columns.ts';

const STEPS = 5;
const SECONDS = 5;

/** The time of the last value of all, in seconds; null: it has not stopped, or never had one. */
export function silentSince({ start, step, count, lines }: SeriesFrame): number | null {
  const distances: number[] = [];
  let last = -1;
  for (let i = 0; i < count; i += 1) {
    if (lines.every(({ values }) => Number.isNaN(values[i] as number))) continue;
    if (last >= 0) distances.push(i - last);
    last = i;
  }
  if (last < 0) return null;
  // Seldom is usual, too: the longest but one, as of hosts. Of a single value it is not known how often there is one.
  const usual = distances.sort((a, b) => b - a)[1] ?? distances[0] ?? count;
  const silent = count - 1 - last;
  return silent > STEPS * usual && silent * step > SECONDS ? start + last * step : null;
}
