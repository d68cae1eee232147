// The charts of a bundle's last day, painted as those of the pages are.
import type { SeriesFrame } from '../../api/columns.ts';
import { Colours, type Lines, linesOf } from '../../charts/lines.ts';
import { paintLines } from '../../charts/paintLines.ts';
import { seriesColour } from '../../charts/palette.ts';
import { paintTimeAxis, penOf } from '../../charts/pen.ts';
import { type Figure, figureOf } from '../../charts/units.ts';

export interface DayChart {
  readonly title: string;
  readonly unit: string;
  readonly series: readonly {
    readonly label: string;
    /** Seconds since the epoch and the value, on the grid of the day; what was not measured is left out. */
    readonly values: readonly (readonly [time: number, value: number])[];
  }[];
}
/** As supportd's statistics step writes it; times and `step` in seconds. */
export interface DayOfStatistics {
  readonly start: number;
  readonly end: number;
  readonly step: number;
  readonly charts: readonly DayChart[];
}

const HEIGHT = 150;
/** A day's axis says nothing of an appliance that is an hour old, and one of a minute says nothing at all. */
const SHORTEST = 900;

/** From the first value on. */
export function startOf({ end, charts }: DayOfStatistics): number {
  const times = charts.flatMap(({ series }) => series.flatMap(({ values }) => values[0]?.[0] ?? []));
  return Math.min(end - SHORTEST, ...times);
}

export function lengthInWords(seconds: number): string {
  if (seconds > 82_800) return 'day';
  return seconds > 5400 ? `${Math.round(seconds / 3600)} hours` : `${Math.round(seconds / 60)} minutes`;
}

/** The values in their places on the day's grid; a place without one is a gap. */
export function frameOf({ start, end, step }: Omit<DayOfStatistics, 'charts'>, { series }: DayChart): SeriesFrame {
  const count = Math.floor((end - start) / step) + 1;
  const lines = series.map(({ label, values }) => {
    const placed = new Float64Array(count).fill(Number.NaN);
    for (const [time, value] of values) {
      const place = Math.round((time - start) / step);
      if (place >= 0 && place < count) placed[place] = value;
    }
    return { labels: { label }, values: placed };
  });
  return { start, step, count, lines };
}

const highest = ({ drawn }: Lines) =>
  Math.max(0, ...drawn.flatMap(({ values }) => [...values].filter(Number.isFinite)));

const darkness = () => matchMedia('(prefers-color-scheme: dark)');

function keyOf({ drawn }: Lines): { element: HTMLElement; paint: () => void } {
  const element = document.createElement('div');
  element.className = 'key';
  const swatches = drawn.flatMap(({ text, colour }) => {
    if (text === '') return [];
    const item = document.createElement('span');
    const swatch = document.createElement('i');
    item.append(swatch, text);
    element.append(item);
    return [[swatch, colour] as const];
  });
  return {
    element,
    paint: () => {
      for (const [swatch, colour] of swatches) swatch.style.background = seriesColour(colour, darkness().matches);
    },
  };
}

function chartOf(day: DayOfStatistics, from: number, chart: DayChart): HTMLElement {
  const { title, unit } = chart;
  const frame = frameOf(day, chart);
  const lines = linesOf(frame, ({ label = '' }) => ({ key: label, text: label }), new Colours());
  const figure: Figure = figureOf(unit, false);
  const element = document.createElement('figure');
  const caption = document.createElement('figcaption');
  caption.textContent = `${title} (${unit})`;
  const canvas = document.createElement('canvas');
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', `${title}: at most ${figure(highest(lines))} (${unit})`);
  const key = keyOf(lines);
  element.append(caption, canvas, key.element);

  const paint = () => {
    const context = canvas.getContext('2d');
    const width = canvas.clientWidth;
    if (context === null || width === 0) return;
    canvas.width = Math.round(width * devicePixelRatio);
    canvas.height = Math.round(HEIGHT * devicePixelRatio);
    context.scale(devicePixelRatio, devicePixelRatio);
    const pen = penOf(context, { width, height: HEIGHT, dark: darkness().matches, start: from, end: day.end });
    paintTimeAxis(pen);
    paintLines(pen, {
      ...{ start: frame.start, step: frame.step, count: frame.count, lines, unit, figure },
      ...{ stacked: false, highlight: [], limit: undefined, compare: null, right: null },
    });
    key.paint();
  };
  new ResizeObserver(paint).observe(canvas);
  darkness().addEventListener('change', paint);
  return element;
}

export function showDay(
  statistics: DayOfStatistics | null,
  title: HTMLElement,
  charts: HTMLElement,
  nothing: HTMLElement,
): void {
  const there = statistics !== null && statistics.charts.length > 0;
  nothing.hidden = there;
  if (!there) return;
  const from = startOf(statistics);
  title.textContent = `The last ${lengthInWords(statistics.end - from)}`;
  charts.append(...statistics.charts.map((chart) => chartOf(statistics, from, chart)));
}
