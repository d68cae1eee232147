// A box on a heatmap: a stretch of time, and the values between which it lies.
import { onEdge } from './bins.ts';
import { LEFT, type Pen, type ValueScale } from './pen.ts';
import type { Figure } from './units.ts';

export interface Box {
  /** Seconds since the epoch. */
  readonly start: number;
  readonly end: number;
  /** Left out: it goes on to the edge of all that was measured. */
  readonly above?: number;
  readonly below?: number;
}

/** Pixels from the top and the left of the plot. */
export interface Rect {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** A side that is so near to the edge of the picture has no limit there. */
const EDGE = 3;

/** What a rectangle holds, in whole columns and whole bins, so that its counts are exact; null: nothing. */
export function boxOf(
  rect: Rect,
  at: { readonly timeAt: (x: number) => number; readonly step: number; readonly scale: ValueScale },
  { top, bottom }: { readonly top: number; readonly bottom: number },
): Box | null {
  const { timeAt, step, scale } = at;
  const start = Math.floor(timeAt(rect.left) / step + 1e-9) * step;
  const end = Math.max(Math.ceil(timeAt(rect.right) / step - 1e-9) * step, start + step);
  const above = rect.bottom >= bottom - EDGE ? undefined : onEdge(scale.value(rect.bottom));
  const below = rect.top <= top + EDGE ? undefined : onEdge(scale.value(rect.top));
  if (above !== undefined && below !== undefined && above >= below) return null;
  return { start, end, ...(above !== undefined && { above }), ...(below !== undefined && { below }) };
}

export function paintBox(pen: Pen, scale: ValueScale, box: Box): void {
  const { context, top, innerWidth, colours } = pen;
  const bottom = scale.bottom ?? pen.top + pen.innerHeight;
  const clamp = (value: number, least: number, most: number) => Math.min(Math.max(value, least), most);
  const left = clamp(pen.x(box.start), LEFT, LEFT + innerWidth);
  const right = clamp(pen.x(box.end), LEFT, LEFT + innerWidth);
  if (right <= left) return;
  const upper = box.below === undefined ? top : clamp(scale.y(box.below), top, bottom);
  const lower = box.above === undefined ? bottom : clamp(scale.y(box.above), top, bottom);
  context.save();
  context.strokeStyle = colours.text;
  context.lineWidth = 2;
  context.setLineDash([6, 3]);
  context.strokeRect(left + 1, upper + 1, Math.max(1, right - left - 2), Math.max(1, lower - upper - 2));
  context.restore();
}

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });

/** "12:00:00 to 12:01:30, above 100 ms". */
export function boxInWords({ start, end, above, below }: Box, figure: Figure): string {
  const values =
    above !== undefined && below !== undefined
      ? `${figure(above)} to ${figure(below)}`
      : above !== undefined
        ? `above ${figure(above)}`
        : below !== undefined
          ? `below ${figure(below)}`
          : 'all values';
  return `${clock.format(start * 1000)} to ${clock.format(end * 1000)}, ${values}`;
}

/** As it stands in an address. */
export function writeBox({ start, end, above, below }: Box): string {
  return [start, end, above ?? '', below ?? ''].join(',');
}

/** undefined when it is no box. */
export function readBox(text: string | null): Box | undefined {
  const parts = (text ?? '').split(',');
  if (parts.length !== 4) return undefined;
  const [start, end, above, below] = parts.map((part) => (part === '' ? undefined : Number(part)));
  return validBox({ start, end, above, below });
}

/** A link may hold anything. */
export function validBox(value: unknown): Box | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { start, end, above, below } = value as Record<string, unknown>;
  const finite = (one: unknown): one is number => typeof one === 'number' && Number.isFinite(one);
  const limit = (one: unknown) => one === undefined || finite(one);
  if (!finite(start) || !finite(end) || start >= end || !limit(above) || !limit(below)) return undefined;
  if (finite(above) && finite(below) && above >= below) return undefined;
  return { start, end, ...(finite(above) && { above }), ...(finite(below) && { below }) };
}
