// The last hour of what an alert is about, drawn for a mail. Words and numbers stand beside it as text: there is no font.
import { quantity } from '../../../base/quantity.ts';
import { type Colour, Picture } from './png.ts';

export interface ChartData {
  /** Seconds since the epoch. */
  readonly start: number;
  readonly end: number;
  readonly points: readonly (readonly [time: number, value: number])[];
  readonly limit: number;
  /** What values and limit are measured in, as `bytes/s`. */
  readonly unit: string;
}

export interface Chart {
  readonly png: Buffer;
  /** In pixels of the page; the picture has twice as many. */
  readonly width: number;
  readonly height: number;
  /** What is seen, for those who do not see it. */
  readonly words: string;
}

const WIDTH = 560;
const HEIGHT = 140;
const DENSITY = 2;
const COLOURS: readonly Colour[] = [
  [255, 255, 255],
  [226, 229, 233],
  [204, 223, 243],
  [43, 108, 176],
  [201, 25, 11],
];
const [GRID, AREA, LINE, LIMIT] = [1, 2, 3, 4];

/** Null when there is nothing to draw. */
export function draw({ start, end, points, limit, unit }: ChartData): Chart | null {
  const seen = points.filter(([, value]) => Number.isFinite(value));
  if (seen.length < 2) return null;
  const values = seen.map(([, value]) => value);
  const [lowest, highest] = [Math.min(...values), Math.max(...values)];
  const bottom = Math.min(0, lowest, limit);
  const top = Math.max(highest, limit, bottom + Number.MIN_VALUE);
  const picture = new Picture(WIDTH * DENSITY, HEIGHT * DENSITY, COLOURS);
  const { width, height } = picture;
  const room = 8 * DENSITY;
  const x = (time: number) => ((time - start) / (end - start)) * (width - 1);
  const y = (value: number) => height - room - ((value - bottom) / (top - bottom || 1)) * (height - 2 * room);
  for (let n = 0; n <= 6; n++) picture.fill((n * (width - DENSITY)) / 6, 0, DENSITY, height, GRID as number);
  picture.fill(0, y(bottom), width, DENSITY, GRID as number);
  // A gap in the data is a gap in the line.
  const usual = (end - start) / 120;
  const pairs = seen.slice(1).map((point, index) => [seen[index] as readonly [number, number], point] as const);
  const joined = pairs.filter(([from, to]) => to[0] - from[0] <= 2.5 * usual);
  for (const [from, to] of joined) {
    for (let column = Math.floor(x(from[0])); column <= x(to[0]); column++) {
      const part = (column - x(from[0])) / (x(to[0]) - x(from[0]));
      const at = y(from[1] + (to[1] - from[1]) * Math.min(1, Math.max(0, part)));
      picture.fill(column, at, 1, y(bottom) - at, AREA as number);
    }
  }
  for (const [from, to] of joined)
    picture.line(x(from[0]), y(from[1]), x(to[0]), y(to[1]), LINE as number, 2 * DENSITY);
  picture.fill(0, y(limit) - DENSITY / 2, width, DENSITY, LIMIT as number);
  const clock = (seconds: number) => new Date(seconds * 1000).toISOString().slice(11, 16);
  const words =
    `From ${clock(start)} to ${clock(end)} UTC: lowest ${quantity(lowest, unit)}, highest ${quantity(highest, unit)}; ` +
    `the red line is the limit, ${quantity(limit, unit)}.`;
  return { png: picture.png(), width: WIDTH, height: HEIGHT, words };
}
