// What is drawn on every chart over time whatever it shows: its geometry, the time axis, marks, the limit line, the cursor.
import { groupsOf, type MarkGroup } from './marks.ts';
import { type ChartColours, chartColours } from './palette.ts';
import { timeTicks } from './units.ts';

export interface Pen {
  readonly context: CanvasRenderingContext2D;
  readonly width: number;
  readonly height: number;
  readonly left: number;
  readonly top: number;
  readonly innerWidth: number;
  readonly innerHeight: number;
  readonly start: number;
  readonly end: number;
  readonly colours: ChartColours;
  readonly dark: boolean;
  x(time: number): number;
}

/** Where values are, from top to bottom: handed back by `paint`, so that the limit line finds its place. */
export interface ValueScale {
  y(value: number): number;
  value(y: number): number;
  /** Where they end at the bottom, if that is not where the plot does. */
  readonly bottom?: number;
}

export interface PlotMark {
  readonly time: number;
  readonly endTime: number | null;
  readonly severity: 'info' | 'warning' | 'critical';
  readonly kind: string;
  readonly title: string;
}

/** Pixels around what is drawn: for the labels of values and times, and for marks. */
export const LEFT = 72;
export const RIGHT = 12;
export const TOP = 12;
export const BOTTOM = 24;

export function penOf(
  context: CanvasRenderingContext2D,
  { width, height, dark, start, end }: Pick<Pen, 'width' | 'height' | 'dark' | 'start' | 'end'>,
): Pen {
  const innerWidth = Math.max(1, width - LEFT - RIGHT);
  return {
    context,
    width,
    height,
    left: LEFT,
    top: TOP,
    innerWidth,
    innerHeight: height - TOP - BOTTOM,
    start,
    end,
    colours: chartColours(dark),
    dark,
    x: (time) => LEFT + ((time - start) / (end - start)) * innerWidth,
  };
}

function vertical({ context, top, innerHeight }: Pen, x: number): void {
  context.beginPath();
  context.moveTo(Math.round(x) + 0.5, top);
  context.lineTo(Math.round(x) + 0.5, top + innerHeight);
  context.stroke();
}

export function paintTimeAxis(pen: Pen): void {
  const { context, width, height, colours, left, innerWidth, start, end } = pen;
  context.font = '12px RedHatText, sans-serif';
  context.fillStyle = colours.text;
  context.strokeStyle = colours.grid;
  context.lineWidth = 1;
  context.textAlign = 'center';
  context.textBaseline = 'top';
  for (const { time, text } of timeTicks(start, end, innerWidth, 84)) {
    const at = pen.x(time);
    if (at < left - 1) continue;
    const half = context.measureText(text).width / 2;
    context.fillText(text, Math.min(Math.max(at, left + half - 8), width - half), height - BOTTOM + 7);
    context.globalAlpha = 0.6;
    vertical(pen, at);
    context.globalAlpha = 1;
  }
}

/** Pixels that a number of marks takes above the chart. */
const GROUP_WIDTH = 24;

/** What is marked, as it is drawn on this chart: each by itself, or many in groups. */
export function markGroups(pen: Pen, marks: readonly PlotMark[]): MarkGroup[] {
  const { start, end, innerWidth } = pen;
  return groupsOf(marks, start, end, ((end - start) / innerWidth) * GROUP_WIDTH);
}

export function paintMarks(pen: Pen, marks: readonly PlotMark[]): void {
  const { context, width, colours, left, top, start, end } = pen;
  const colourOf = ({ severity }: Pick<PlotMark, 'severity'>) =>
    severity === 'info' ? colours.mark : colours[severity];
  for (const mark of marks) {
    if (mark.endTime === null || mark.endTime < start || mark.time > end) continue;
    const from = Math.max(pen.x(mark.time), left);
    const until = Math.min(pen.x(mark.endTime), width - RIGHT);
    context.fillStyle = colourOf(mark);
    context.fillRect(from, top - 5, Math.max(1, until - from), 3);
  }
  for (const group of markGroups(pen, marks)) {
    const from = Math.max(pen.x(group.time), left);
    context.fillStyle = colourOf(group);
    context.strokeStyle = colourOf(group);
    context.lineWidth = 1;
    context.globalAlpha = 0.7;
    context.setLineDash([2, 3]);
    vertical(pen, from);
    context.setLineDash([]);
    context.globalAlpha = 1;
    if (group.marks.length > 1) {
      context.textAlign = 'left';
      context.textBaseline = 'bottom';
      context.fillText(String(group.marks.length), from - 1, top - 1);
      continue;
    }
    context.beginPath();
    context.moveTo(from - 5, top - 9);
    context.lineTo(from + 5, top - 9);
    context.lineTo(from, top - 1);
    context.fill();
  }
}

/** At a height that may lie outside of what is drawn: the line then lies on its edge. Returns where it is. */
export function paintLimit({ context, colours, left, top, innerWidth, innerHeight }: Pen, at: number): number {
  const y = Math.min(Math.max(at, top), top + innerHeight);
  context.strokeStyle = colours.limit;
  context.lineWidth = 2;
  context.setLineDash([6, 4]);
  context.beginPath();
  context.moveTo(left, y);
  context.lineTo(left + innerWidth, y);
  context.stroke();
  context.setLineDash([]);
  return y;
}

export function paintCursor(pen: Pen, time: number): void {
  pen.context.strokeStyle = pen.colours.text;
  pen.context.lineWidth = 1;
  vertical(pen, pen.x(time));
}
