// A histogram over time: time across, value up, shade = rank of how many. Drawn on a canvas, cell by cell.
import { type PointerEvent, useEffect, useMemo, useRef } from 'react';
import type { Heatmap } from '../api/telemetry.ts';
import { useDark } from '../theme/theme.ts';
import { quantity, type Unit } from '../words/format.ts';
import { chartColours, rampColour } from './palette.ts';
import { type Grid, gridOf, place, rankShades, type Scale, valueAt } from './shading.ts';
import { useWidth } from './useWidth.ts';

export interface HeatmapChartProps {
  readonly label: string;
  readonly heatmap: Heatmap;
  readonly unit: Unit;
  readonly scale: Scale;
  readonly trim: number;
  readonly limit?: number | undefined;
  readonly height?: number;
  /** The column whose distribution is shown, by its start. */
  readonly selected: number | null;
  readonly onHover: (time: number | null) => void;
  readonly onPick: (time: number) => void;
}

const LEFT = 76;
const BOTTOM = 28;
const TOP = 8;
const RIGHT = 8;
/** A row this many CSS pixels high can be told from its neighbour. */
const ROW = 4;

/** Round values to label the value axis with, about `wanted` of them. */
function ticks(grid: Grid, wanted: number): number[] {
  const { lower, upper, scale } = grid;
  if (scale === 'log') {
    const decades = Math.log10(upper / lower);
    const steps = decades > wanted ? [1] : decades * 2 > wanted ? [1, 3] : [1, 2, 5];
    const found: number[] = [];
    for (let power = Math.floor(Math.log10(lower)); power <= Math.ceil(Math.log10(upper)); power += 1) {
      for (const step of steps) found.push(step * 10 ** power);
    }
    return found.filter((value) => value >= lower && value <= upper);
  }
  const rough = (upper - lower) / wanted;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((one) => one * size >= rough) ?? 10) * size;
  const found: number[] = [];
  for (let value = Math.ceil(lower / step) * step; value <= upper; value += step) found.push(value);
  return found;
}

const TIME_STEPS = [1, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 43_200, 86_400];

export function HeatmapChart(props: HeatmapChartProps) {
  const { label, heatmap, unit, scale, trim, limit, height = 220, selected } = props;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(box);
  const dark = useDark();
  const columns = Math.max(1, Math.round((heatmap.end - heatmap.start) / heatmap.step));
  const inner = { width: Math.max(1, width - LEFT - RIGHT), height: height - TOP - BOTTOM };
  const rows = Math.max(8, Math.floor(inner.height / ROW));
  const grid = useMemo(
    () => gridOf(heatmap.columns, { start: heatmap.start, step: heatmap.step, columns, rows, scale, trim }),
    [heatmap, columns, rows, scale, trim],
  );

  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (!context || width === 0 || canvas.current === null) return;
    const ratio = devicePixelRatio;
    canvas.current.width = width * ratio;
    canvas.current.height = height * ratio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const colours = chartColours(dark);
    const x = (column: number) => LEFT + (column * inner.width) / columns;
    const y = (at: number) => TOP + (1 - at) * inner.height;

    const shades = rankShades(grid.counts);
    for (let column = 0; column < columns; column += 1) {
      // Edges on whole pixels: no seams between cells.
      const [from, to] = [Math.floor(x(column)), Math.max(Math.floor(x(column + 1)), Math.floor(x(column)) + 1)];
      for (let row = 0; row < rows; row += 1) {
        const shade = shades[row * columns + column] as number;
        if (shade === 0) continue;
        const [red, green, blue] = rampColour(0.12 + 0.88 * shade, dark);
        context.fillStyle = `rgb(${red} ${green} ${blue})`;
        const [top, bottom] = [Math.round(y((row + 1) / rows)), Math.round(y(row / rows))];
        context.fillRect(from, top, to - from, bottom - top);
      }
    }

    context.font = '12px RedHatText, sans-serif';
    context.fillStyle = colours.text;
    context.strokeStyle = colours.grid;
    context.lineWidth = 1;
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    for (const value of ticks(grid, 6)) {
      const at = Math.round(y(place(value, grid))) + 0.5;
      context.globalAlpha = 0.5;
      context.beginPath();
      context.moveTo(LEFT, at);
      context.lineTo(width - RIGHT, at);
      context.stroke();
      context.globalAlpha = 1;
      context.fillText(quantity(value, unit), LEFT - 6, at);
    }
    const span = heatmap.end - heatmap.start;
    const step = TIME_STEPS.find((one) => (one * inner.width) / span >= 80) ?? 86_400;
    const clock = new Intl.DateTimeFormat(undefined, {
      hour: '2-digit',
      minute: '2-digit',
      ...(step < 60 && { second: '2-digit' }),
      ...(span > 86_400 && { day: 'numeric', month: 'short' }),
    });
    context.textAlign = 'center';
    context.textBaseline = 'top';
    for (let time = Math.ceil(heatmap.start / step) * step; time <= heatmap.end; time += step) {
      const at = LEFT + ((time - heatmap.start) / span) * inner.width;
      if (at > LEFT + 20 && at < width - 30) context.fillText(clock.format(time * 1000), at, height - BOTTOM + 8);
    }
    if (limit !== undefined) {
      const at = place(limit, grid);
      if (at >= 0 && at <= 1) {
        context.strokeStyle = colours.limit;
        context.lineWidth = 2;
        context.setLineDash([6, 4]);
        context.beginPath();
        context.moveTo(LEFT, y(at));
        context.lineTo(width - RIGHT, y(at));
        context.stroke();
        context.setLineDash([]);
      }
    }
    if (selected !== null) {
      const column = Math.round((selected - heatmap.start) / heatmap.step);
      if (column >= 0 && column < columns) {
        context.strokeStyle = colours.text;
        context.lineWidth = 1;
        context.strokeRect(
          Math.floor(x(column)) + 0.5,
          TOP + 0.5,
          Math.max(2, inner.width / columns),
          inner.height - 1,
        );
      }
    }
  }, [grid, rows, columns, width, height, dark, unit, limit, selected, heatmap, inner.width, inner.height]);

  const timeAt = (event: PointerEvent<HTMLElement>): number | null => {
    const from = event.currentTarget.getBoundingClientRect().left + LEFT;
    const column = Math.floor(((event.clientX - from) / inner.width) * columns);
    return column < 0 || column >= columns ? null : heatmap.start + column * heatmap.step;
  };
  return (
    <div ref={box} className="cistern-chart" style={{ height }}>
      <canvas
        ref={canvas}
        role="img"
        aria-label={label}
        style={{ width: '100%', height }}
        data-lower={grid.lower}
        data-upper={grid.upper}
        onPointerMove={(event) => props.onHover(timeAt(event))}
        onPointerLeave={() => props.onHover(null)}
        onPointerDown={(event) => {
          const time = timeAt(event);
          if (time !== null) props.onPick(time);
        }}
      />
      {grid.above > 0 && (
        <small className="cistern-quiet">
          {Math.round(grid.above).toLocaleString('en-US')} above {quantity(valueAt(1, grid), unit)} are not drawn
        </small>
      )}
    </div>
  );
}
