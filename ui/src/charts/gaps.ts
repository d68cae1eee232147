// Where a heatmap is empty because nothing happened, and where because nothing was measured: that is not the same.
import type { BinsFrame, SeriesFrame } from '../api/columns.ts';

/**
 * The columns in which nothing was measured, as stretches [from, until) of their numbers. `measured` has a value wherever
 * the number of events of a second is known, zero too. Behind its last value it may just not have come yet.
 */
export function gapsOf(frame: BinsFrame, measured: SeriesFrame): (readonly [number, number])[] {
  const known = measured.lines.map(({ values }) => values);
  const at = (time: number) => {
    const place = Math.round((time - measured.start) / measured.step);
    return known.some((values) => place >= 0 && place < values.length && !Number.isNaN(values[place] as number));
  };
  // A point stands for the step that ended then; a second's own count is at its beginning.
  const behind = frame.step <= 1 ? 0 : frame.step;
  const there = frame.columns.map((column, i) => column !== null || at(frame.start + i * frame.step + behind));
  const last = there.lastIndexOf(true);
  const gaps: (readonly [number, number])[] = [];
  for (let i = 0; i < last; i += 1) {
    if (there[i]) continue;
    const from = i;
    while (!there[i]) i += 1;
    gaps.push([from, i]);
  }
  return gaps;
}
