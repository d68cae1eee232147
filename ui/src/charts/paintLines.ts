// Paints lines, stacked upon each other or each for itself. Where nothing was measured nothing is painted.
import type { Lines, NamedLine } from './lines.ts';
import { within } from './lines.ts';
import { seriesColour } from './palette.ts';
import type { Pen, ValueScale } from './pen.ts';
import { type Figure, linearTicks } from './units.ts';

export interface LinesPicture {
  readonly start: number;
  readonly step: number;
  readonly count: number;
  readonly lines: Lines;
  readonly stacked: boolean;
  /** In colour and at the bottom, all others in grey; empty: all in colour. */
  readonly highlight: readonly string[];
  readonly unit: string;
  readonly figure: Figure;
  readonly limit: number | undefined;
  readonly lowerLimit?: number | undefined;
  /** The total of an earlier time, moved to this one. */
  readonly compare: Dashed | null;
  /** A line of its own size, from 0 to its greatest on the right. */
  readonly right: Dashed | null;
}

interface Dashed {
  readonly start: number;
  readonly step: number;
  readonly values: Float64Array;
}

export function paintValueAxis(pen: Pen, ticks: readonly number[], y: (value: number) => number, figure: Figure): void {
  const { context, left, width, colours, innerWidth } = pen;
  context.strokeStyle = colours.grid;
  context.fillStyle = colours.text;
  context.lineWidth = 1;
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  for (const value of ticks) {
    const at = Math.round(y(value)) + 0.5;
    context.globalAlpha = 0.6;
    context.beginPath();
    context.moveTo(left, at);
    context.lineTo(left + innerWidth, at);
    context.stroke();
    context.globalAlpha = 1;
    context.fillText(figure(value), left - 6, at, Math.min(left - 8, width));
  }
}

/** Calls back for each stretch of places without a gap. */
function runs(total: Float64Array, from: number, until: number, each: (first: number, last: number) => void): void {
  let first = -1;
  for (let i = from; i <= until; i += 1) {
    const gap = i === until || Number.isNaN(total[i] as number);
    if (!gap && first < 0) first = i;
    if (gap && first >= 0) {
      each(first, i - 1);
      first = -1;
    }
  }
}

const inOrder = (lines: readonly NamedLine[], highlight: readonly string[]) =>
  highlight.length === 0
    ? lines
    : [...lines.filter(({ key }) => highlight.includes(key)), ...lines.filter(({ key }) => !highlight.includes(key))];

function paintDashed(
  { context, colours, x }: Pen,
  { start, step, values }: Dashed,
  y: (value: number) => number,
): void {
  context.strokeStyle = colours.text;
  context.lineWidth = 1.5;
  context.setLineDash([4, 3]);
  runs(values, 0, values.length, (first, last) => {
    context.beginPath();
    for (let i = first; i <= last; i += 1) context.lineTo(x(start + i * step), y(values[i] as number));
    context.stroke();
  });
  context.setLineDash([]);
}

/** Its figures stand inside the picture, at the right edge: it has as much room as one without such a line. */
function paintRight(pen: Pen, line: Dashed, figure: Figure): void {
  const { context, colours, left, top, innerWidth, innerHeight } = pen;
  let greatest = 0;
  for (const value of line.values) if (value > greatest) greatest = value;
  greatest = greatest * 1.06 || 1;
  const y = (value: number) => top + (1 - value / greatest) * innerHeight;
  paintDashed(pen, line, y);
  context.fillStyle = colours.text;
  context.textAlign = 'right';
  context.textBaseline = 'bottom';
  for (const value of linearTicks(0, greatest, innerHeight / 60, 'count').slice(1)) {
    context.fillText(figure(value), left + innerWidth - 4, y(value));
  }
}

export function paintLines(pen: Pen, picture: LinesPicture): ValueScale {
  const { context, colours, dark, left, top, innerWidth, innerHeight, start, end } = pen;
  const { lines, stacked, highlight, step } = picture;
  // One place more at each side, so that lines run out of the picture instead of ending in it.
  const [inside, outside] = within(picture, start, end);
  const [from, until] = [Math.max(0, inside - 1), Math.min(picture.count, outside + 1)];
  const drawn = inOrder(lines.drawn, highlight);

  let [lower, upper] = [0, 0];
  if (stacked) {
    for (let i = from; i < until; i += 1) {
      let sum = 0;
      for (const { values } of drawn) if ((values[i] as number) > 0) sum += values[i] as number;
      if (sum > upper) upper = sum;
    }
  } else {
    for (const { values } of drawn) {
      for (let i = from; i < until; i += 1) {
        const value = values[i] as number;
        if (value > upper) upper = value;
        if (value < lower) lower = value;
      }
    }
  }
  const { compare, limit, lowerLimit = limit } = picture;
  if (compare !== null) for (const value of compare.values) if (value > upper) upper = value;
  for (const one of [limit, lowerLimit])
    if (one !== undefined) [lower, upper] = [Math.min(lower, one), Math.max(upper, one)];
  if (upper === lower) upper = lower + 1;
  upper += (upper - lower) * 0.06;
  if (lower < 0) lower -= (upper - lower) * 0.06;
  const y = (value: number) => top + (1 - (value - lower) / (upper - lower)) * innerHeight;
  paintValueAxis(pen, linearTicks(lower, upper, innerHeight / 45, picture.unit), y, picture.figure);

  context.save();
  context.beginPath();
  context.rect(left, top - 1, innerWidth, innerHeight + 2);
  context.clip();
  const x = (i: number) => pen.x(picture.start + i * step);
  /** A single value between two gaps is as wide as its step, not nothing. */
  const half = Math.max(1, (innerWidth * step) / (end - start) / 2);
  const paintOf = (line: NamedLine) =>
    line.colour < 0 || (highlight.length > 0 && !highlight.includes(line.key))
      ? colours.dim
      : seriesColour(line.colour, dark);

  if (stacked) {
    const floor = new Float64Array(until);
    const size = (line: NamedLine, i: number) => Math.max(0, line.values[i] as number) || 0;
    for (const line of drawn) {
      context.fillStyle = paintOf(line);
      context.globalAlpha = line.colour < 0 ? 0.7 : 0.9;
      runs(lines.total, from, until, (first, last) => {
        context.beginPath();
        if (first === last) {
          const [low, high] = [floor[first] as number, (floor[first] as number) + size(line, first)];
          context.rect(x(first) - half, y(high), 2 * half, y(low) - y(high));
        } else {
          for (let i = first; i <= last; i += 1) context.lineTo(x(i), y((floor[i] as number) + size(line, i)));
          for (let i = last; i >= first; i -= 1) context.lineTo(x(i), y(floor[i] as number));
        }
        context.fill();
      });
      for (let i = from; i < until; i += 1) floor[i] = (floor[i] as number) + size(line, i);
    }
    context.globalAlpha = 1;
  } else {
    // What is highlighted is painted last, above the others.
    for (const line of [...drawn].reverse()) {
      const bright = highlight.length === 0 || highlight.includes(line.key);
      context.strokeStyle = context.fillStyle = paintOf(line);
      context.lineWidth = highlight.length > 0 && bright ? 2.5 : 1.5;
      context.lineJoin = 'round';
      runs(line.values, from, until, (first, last) => {
        context.beginPath();
        if (first === last) {
          context.arc(x(first), y(line.values[first] as number), 2, 0, 7);
          context.fill();
          return;
        }
        for (let i = first; i <= last; i += 1) context.lineTo(x(i), y(line.values[i] as number));
        context.stroke();
      });
    }
  }
  if (compare !== null) paintDashed(pen, compare, y);
  if (picture.right !== null) paintRight(pen, picture.right, picture.figure);
  context.restore();
  return { y, value: (at) => lower + (1 - (at - top) / innerHeight) * (upper - lower) };
}
