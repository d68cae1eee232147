// Reads telemetry for a window that moves with the clock, or stands still.
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { heatmap, labelsOf, over, queryRange, type Window } from '../api/telemetry.ts';

/** The store has the last second complete a moment after it ended. */
const SETTLE = 1;

export interface Frame {
  readonly range: number;
  readonly end: number | null;
  readonly step: number;
}

export function windowOf({ range, end, step }: Frame): Window {
  const last = Math.floor((end ?? Date.now() / 1000 - SETTLE) / step) * step;
  return { start: last - Math.ceil(range / step) * step, end: last, step };
}

/** Each second while a chart is short; a long one need not be redrawn before it has moved by a step or a pixel. */
function interval({ end, range, step }: Frame): number | false {
  if (end !== null) return false;
  return Math.min(Math.max(step, range / 600, 1), 60) * 1000;
}

function key(kind: string, query: string, frame: Frame) {
  return ['telemetry', kind, query, frame.range, frame.step, frame.end ?? 'live'];
}

export function useSeries(query: string, frame: Frame, enabled = true) {
  return useQuery({
    queryKey: key('range', query, frame),
    queryFn: async ({ signal }) => {
      const window = windowOf(frame);
      return { window, series: await queryRange(query, window, signal) };
    },
    refetchInterval: interval(frame),
    placeholderData: keepPreviousData,
    enabled,
  });
}

export function useHeatmap(query: string, frame: Frame, enabled = true) {
  return useQuery({
    queryKey: key('heatmap', query, frame),
    queryFn: ({ signal }) => heatmap(query, windowOf(frame), signal),
    refetchInterval: interval(frame),
    placeholderData: keepPreviousData,
    enabled,
  });
}

export function useOver(query: string, frame: Frame, limit: number | undefined) {
  return useQuery({
    queryKey: [...key('over', query, frame), limit],
    queryFn: ({ signal }) => over(query, windowOf(frame), limit ?? 0, signal),
    refetchInterval: interval(frame),
    placeholderData: keepPreviousData,
    enabled: limit !== undefined,
  });
}

export function useLabels(query: string, enabled = true) {
  return useQuery({
    queryKey: ['telemetry', 'labels', query],
    queryFn: ({ signal }) => labelsOf(query, signal),
    refetchInterval: 15_000,
    placeholderData: keepPreviousData,
    enabled,
  });
}

/** Answers of query_range on the window's own grid: a missing second is a gap, not a line across it. */
export function aligned(window: Window, values: readonly [number, string][]): (number | null)[] {
  const count = Math.floor((window.end - window.start) / window.step) + 1;
  const found: (number | null)[] = new Array(count).fill(null);
  for (const [time, text] of values) {
    const at = Math.round((time - window.start) / window.step);
    const value = Number(text);
    if (at >= 0 && at < count && Number.isFinite(value)) found[at] = value;
  }
  return found;
}

export function timesOf({ start, end, step }: Window): number[] {
  return Array.from({ length: Math.floor((end - start) / step) + 1 }, (_, index) => start + index * step);
}
