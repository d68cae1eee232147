// Paints histograms over time. The cells are made into a picture once, when the data changes; each frame only places it.
import type { BinsFrame } from '../api/columns.ts';
import { cellsOf, type Extent, placeOf, rankShades, valueAtPlace } from './bins.ts';
import { paintValueAxis } from './paintLines.ts';
import { rampColour } from './palette.ts';
import type { Pen, ValueScale } from './pen.ts';
import { type Figure, linearTicks, logTicks } from './units.ts';

export interface HeatmapPicture {
  readonly frame: BinsFrame;
  readonly extent: Extent;
  readonly image: HTMLCanvasElement;
  readonly unit: string;
  readonly figure: Figure;
  /** Quantiles over time, drawn upon it. */
  readonly lines: readonly { readonly text: string; readonly values: Float64Array; readonly dashed: boolean }[];
  readonly linesStart: number;
  /** How many lie beyond the limit in each column, drawn below; null without a limit. */
  readonly beyond: Float64Array | null;
  /** The columns in which nothing was measured: see gaps.ts. */
  readonly gaps: readonly (readonly [number, number])[];
}

/** Slanted lines, 6 px apart: no colour that a count could have. */
function hatch(pen: Pen, from: number, until: number, height: number): void {
  const { context, top, colours } = pen;
  context.save();
  context.beginPath();
  context.rect(from, top, until - from, height);
  context.clip();
  context.globalAlpha = 0.25;
  context.strokeStyle = colours.text;
  context.lineWidth = 1;
  context.beginPath();
  // Of the whole plot, not of the stretch: the lines stay where they are when a stretch grows.
  for (let x = Math.floor((from - height) / 6) * 6; x < until; x += 6) {
    context.moveTo(x, top + height);
    context.lineTo(x + height, top);
  }
  context.stroke();
  context.restore();
}

/** Of the height, for how many lie beyond the limit. */
const BEYOND = 42;
export const ROWS = 64;

/** One pixel a cell, transparent where nothing is. */
export function heatmapImage(frame: BinsFrame, extent: Extent, dark: boolean): HTMLCanvasElement {
  const columns = frame.columns.length;
  const image = document.createElement('canvas');
  image.width = Math.max(1, columns);
  image.height = ROWS;
  const context = image.getContext('2d');
  if (context === null || columns === 0) return image;
  const shades = rankShades(cellsOf(frame.columns, extent, ROWS));
  const pixels = context.createImageData(columns, ROWS);
  for (let row = 0; row < ROWS; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      const shade = shades[row * columns + column] as number;
      if (shade === 0) continue;
      const at = ((ROWS - 1 - row) * columns + column) * 4;
      const [red, green, blue] = rampColour(0.1 + 0.9 * shade, dark);
      pixels.data[at] = red;
      pixels.data[at + 1] = green;
      pixels.data[at + 2] = blue;
      pixels.data[at + 3] = 255;
    }
  }
  context.putImageData(pixels, 0, 0);
  return image;
}

export function paintHeatmap(pen: Pen, picture: HeatmapPicture): ValueScale {
  const { context, left, top, innerWidth, colours } = pen;
  const { extent, frame, beyond } = picture;
  const innerHeight = pen.innerHeight - (beyond === null ? 0 : BEYOND);
  const y = (value: number) => top + (1 - placeOf(value, extent)) * innerHeight;
  const ticks =
    extent.scale === 'log'
      ? logTicks(extent.lower, extent.upper, innerHeight / 40)
      : linearTicks(extent.lower, extent.upper, innerHeight / 45, picture.unit);
  context.save();
  context.beginPath();
  context.rect(left, top - 1, innerWidth, pen.innerHeight + 2);
  context.clip();
  const from = pen.x(frame.start);
  const until = pen.x(frame.start + frame.columns.length * frame.step);
  for (const [a, b] of picture.gaps) {
    const [begin, end] = [pen.x(frame.start + a * frame.step), pen.x(frame.start + b * frame.step)];
    hatch(pen, Math.max(begin, left), Math.min(end, left + innerWidth), innerHeight);
  }
  context.imageSmoothingEnabled = false;
  context.drawImage(picture.image, from, top, until - from, innerHeight);
  for (const { values, dashed } of picture.lines) {
    context.strokeStyle = colours.text;
    context.lineWidth = 1.5;
    context.setLineDash(dashed ? [4, 3] : []);
    context.beginPath();
    let down = false;
    for (let i = 0; i < values.length; i += 1) {
      const value = values[i] as number;
      if (Number.isNaN(value)) {
        down = false;
        continue;
      }
      const at = pen.x(picture.linesStart + (i + 0.5) * frame.step);
      if (down) context.lineTo(at, y(value));
      else context.moveTo(at, y(value));
      down = true;
    }
    context.stroke();
    context.setLineDash([]);
  }
  if (beyond !== null) {
    const bottom = top + pen.innerHeight;
    let largest = 1;
    for (const count of beyond) if (count > largest) largest = count;
    context.fillStyle = colours.limit;
    for (let i = 0; i < beyond.length; i += 1) {
      const count = beyond[i] as number;
      if (!(count > 0)) continue;
      const [a, b] = [pen.x(frame.start + i * frame.step), pen.x(frame.start + (i + 1) * frame.step)];
      const size = Math.max(2, ((BEYOND - 8) * count) / largest);
      context.fillRect(a, bottom - size, Math.max(1, b - a - 0.5), size);
    }
  }
  context.restore();
  paintValueAxis(pen, ticks, y, picture.figure);
  if (beyond !== null) {
    context.fillStyle = colours.text;
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    context.fillText('beyond', left - 6, top + pen.innerHeight - BEYOND / 2 + 4);
  }
  return { y, bottom: top + innerHeight, value: (at) => valueAtPlace(1 - (at - top) / innerHeight, extent) };
}
