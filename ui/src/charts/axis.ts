// The one time axis of a page: every chart on it shows the same time, moves with the others, and shares the cursor. It is
// outside React, because it moves with every pointer event: charts repaint on it, and only what has settled causes
// requests and renders.
import { createContext, use, useCallback, useDeferredValue, useEffect, useSyncExternalStore } from 'react';

export interface Settled {
  /** Seconds. */
  readonly range: number;
  /** Seconds since the epoch; null: live. */
  readonly end: number | null;
}
export interface Span {
  readonly start: number;
  readonly end: number;
}

const SHORTEST = 10;
const LONGEST = 2 * 365 * 86_400;
/** A gesture is over when nothing has moved for this long. */
const SETTLE_MS = 150;
/** The store has the last second complete a moment after it ended. */
const LATE = 1;

export class TimeAxis {
  #range: number;
  #end: number | null;
  #settled: Settled;
  #cursor: number | null = null;
  #lastEnd = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #painters = new Set<(moved: boolean) => void>();
  readonly #listeners = new Set<() => void>();
  readonly #now: () => number;

  constructor(settled: Settled, now: () => number = () => Date.now() / 1000) {
    this.#range = settled.range;
    this.#end = settled.end;
    this.#settled = settled;
    this.#now = now;
  }

  get settled(): Settled {
    return this.#settled;
  }
  get live(): boolean {
    return this.#end === null;
  }
  get range(): number {
    return this.#range;
  }
  get cursor(): number | null {
    return this.#cursor;
  }
  get span(): Span {
    const end = this.#end ?? this.#liveEnd();
    return { start: end - this.#range, end };
  }

  /** Live, time goes on for all charts at once: whichever is painted first in a new second makes the others follow. */
  #liveEnd(): number {
    const end = Math.floor(this.#now()) - LATE;
    if (end !== this.#lastEnd) {
      this.#lastEnd = end;
      this.#paint(true);
    }
    return end;
  }

  /** Called before each frame that may have to be painted; `moved` when more than the cursor has. */
  onPaint(painter: (moved: boolean) => void): () => void {
    this.#painters.add(painter);
    return () => this.#painters.delete(painter);
  }
  onSettled = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  #paint(moved: boolean): void {
    for (const painter of this.#painters) painter(moved);
  }

  #settle(): void {
    clearTimeout(this.#timer);
    if (this.#settled.range === this.#range && this.#settled.end === this.#end) return;
    this.#settled = { range: this.#range, end: this.#end };
    for (const listener of this.#listeners) listener();
  }

  /** At once: a choice, not a gesture. */
  set({ range, end }: Settled): void {
    this.#move(range, end);
    this.#settle();
  }

  #move(range: number, end: number | null): void {
    this.#range = Math.min(Math.max(range, SHORTEST), LONGEST);
    // Nothing is known of the future: whoever moves there is live again.
    this.#end = end !== null && end >= this.#now() - LATE ? null : end;
    this.#paint(true);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#settle(), SETTLE_MS);
  }

  pan(seconds: number): void {
    this.#move(this.#range, this.span.end + seconds);
  }

  /** About a moment that stays where it is; live it is now that stays. */
  zoom(factor: number, about?: number): void {
    const { start, end } = this.span;
    const range = Math.min(Math.max(this.#range * factor, SHORTEST), LONGEST);
    if (this.#end === null) {
      this.#move(range, null);
      return;
    }
    const fixed = about ?? (start + end) / 2;
    const share = (fixed - start) / (end - start);
    this.#move(range, fixed + (1 - share) * range);
  }

  show({ start, end }: Span): void {
    this.set({ range: Math.max(SHORTEST, Math.round(end - start)), end: Math.round(end) });
  }

  pause(): void {
    this.set({ range: this.#range, end: this.span.end - 1 });
  }
  goLive(): void {
    this.set({ range: this.#range, end: null });
  }

  point(time: number | null): void {
    if (time === this.#cursor) return;
    this.#cursor = time;
    this.#paint(false);
  }

  /** Time has gone on. */
  tick(): void {
    if (this.#end === null) this.#paint(true);
  }
}

export const AxisContext = createContext<TimeAxis | null>(null);

export function useAxis(): TimeAxis {
  const axis = use(AxisContext);
  if (axis === null) throw new Error('a chart stands on a page with a time axis');
  return axis;
}

export function useSettled(axis: TimeAxis): Settled {
  return useSyncExternalStore(axis.onSettled, () => axis.settled);
}

/** Where the cursor is, for what is written about it; that may come a moment later than the line itself. */
export function useCursor(axis: TimeAxis): number | null {
  const subscribe = useCallback((listener: () => void) => axis.onPaint(listener), [axis]);
  return useDeferredValue(useSyncExternalStore(subscribe, () => axis.cursor));
}

const TICK_MS = 5_000;

/** Charts repaint when their data comes; this is for those that get none. */
export function useTicking(axis: TimeAxis): void {
  useEffect(() => {
    const clock = setInterval(() => axis.tick(), TICK_MS);
    return () => clearInterval(clock);
  }, [axis]);
}

/** As many steps as can be told apart, and a step of whole minutes, hours or days. */
export function stepFor(range: number, maxSteps: number): number {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21_600, 86_400];
  return steps.find((step) => step >= range / maxSteps) ?? 86_400;
}

/** What is read for a window that stands still: more than is seen, so that panning has something to show at once. */
export function fetchSpan({ range, end }: { range: number; end: number }, step: number, now: number): Span {
  const half = Math.max(range / 2, step);
  const start = Math.floor((end - range - half / 2) / half) * half;
  // What ends now grows in a few large steps, so that a chart that stands still is not read again each second.
  const grown = Math.floor((now - LATE) / (range / 20)) * (range / 20);
  const until = Math.min(Math.ceil((end + half / 2) / half) * half, Math.max(grown, end));
  return { start: Math.floor(start / step) * step, end: Math.floor(until / step) * step };
}
