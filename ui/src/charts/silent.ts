// Whether what a live chart shows has stopped: its last value is further from the end of what was read than its values are
// from each other. Compared with what was read, and not with the clock: a page that slept claims nothing.
import type { BinsFrame, SeriesFrame } from '../api/columns.ts';

const STEPS = 5;
const SECONDS = 5;

/** The time of the last value of all, in seconds; null: it has not stopped, or never had one. */
export function silentSince({ start, step, count, lines }: SeriesFrame): number | null {
  return lastOf(start, step, count, (i) => lines.some(({ values }) => !Number.isNaN(values[i] as number)));
}

/** The same of a heatmap: the time of its last events. */
export function eventlessSince({ start, step, columns }: BinsFrame): number | null {
  return lastOf(start, step, columns.length, (i) => columns[i] !== null);
}

function lastOf(start: number, step: number, count: number, there: (i: number) => boolean): number | null {
  const distances: number[] = [];
  let last = -1;
  for (let i = 0; i < count; i += 1) {
    if (!there(i)) continue;
    if (last >= 0) distances.push(i - last);
    last = i;
  }
  if (last < 0) return null;
  // Seldom is usual, too: the longest but one, as of hosts. Of a single value it is not known how often there is one.
  const usual = distances.sort((a, b) => b - a)[1] ?? distances[0] ?? count;
  const silent = count - 1 - last;
  return silent > STEPS * usual && silent * step > SECONDS ? start + last * step : null;
}

/** Whether nothing has moved for as long at the end: what the store draws for minutes of a series that has stopped. */
export function isFlat(frame: SeriesFrame): boolean {
  return isFlatFor(frame, Math.max(STEPS, Math.floor(SECONDS / frame.step)) + 1);
}

function isFlatFor({ count, lines }: SeriesFrame, points: number): boolean {
  if (count < points) return false;
  const ends = lines.filter(({ values }) => !Number.isNaN(values[count - 1] as number));
  return (
    ends.length > 0 &&
    ends.every(({ values }) => values.subarray(count - points).every((one) => one === values[count - 1]))
  );
}

/** How far back the store looks for a series that is not the appliance's own. */
const LOOKBACK = 300;

/**
 * Of a chart that is flat up to `end`: whether its samples, so many within what is looked back, have stopped with the last of
 * them. A chart can be flat because its values are the same.
 */
export function stoppedAt(frame: SeriesFrame, end: number, last: number, samples: number): number | null {
  const { start, step, count, lines } = frame;
  const begins = Array.from({ length: count }, (_, i) => i).find((i) =>
    lines.some(({ values }) => !Number.isNaN(values[i] as number)),
  );
  if (begins === undefined || samples < 2) return null;
  // What moved since has come since: what was answered is of before that.
  if (!isFlatFor(frame, count - Math.max(0, Math.ceil((last - start) / step)))) return null;
  const first = Math.max(start + begins * step, end - LOOKBACK);
  const distance = Math.max(step, (last - first) / (samples - 1));
  return end - last > Math.max(STEPS * distance, SECONDS) ? last : null;
}
