// From a moment to the column of a heatmap.
import type { BinsFrame } from '../api/columns.ts';

/** The column under a moment; −1: there is none. */
export function columnAt(frame: BinsFrame | undefined, time: number | null): number {
  if (frame === undefined || time === null) return -1;
  const at = Math.floor((time - frame.start) / frame.step + 1e-9);
  return at >= 0 && at < frame.columns.length ? at : -1;
}
