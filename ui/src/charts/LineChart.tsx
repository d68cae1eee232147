// Series over time, drawn by uPlot. Values move in place when new data arrives: the plot is made anew only when what is
// drawn, not merely its data, changes.
import 'uplot/dist/uPlot.min.css';
import { useEffect, useRef } from 'react';
import UPlot from 'uplot';
import { useDark } from '../theme/theme.ts';
import { quantity, type Unit } from '../words/format.ts';
import { chartColours, seriesColour } from './palette.ts';
import { useWidth } from './useWidth.ts';

export interface Line {
  readonly label: string;
  readonly values: (number | null)[];
}
export interface LineChartProps {
  /** Said to those who cannot see it. */
  readonly label: string;
  readonly times: number[];
  readonly lines: readonly Line[];
  readonly unit: Unit;
  readonly perSecond?: boolean;
  readonly start: number;
  readonly end: number;
  readonly limit?: number | undefined;
  readonly highlight?: string | null;
  readonly height?: number;
  readonly onCursor?: (index: number | null) => void;
  /** A range dragged over the chart. */
  readonly onSelect?: (start: number, end: number) => void;
}

/** Ticks at 256 KiB, 512 KiB, 1 MiB …, not at 19.1 MiB. */
const BINARY_STEPS = Array.from({ length: 60 }, (_, power) => 2 ** power);

/** Times on the axis as everywhere else: 24 hours, seconds only where they differ, the day only where it changes. */
function timeTicks(ticks: readonly number[]): string[] {
  const step = ticks.length > 1 ? (ticks[1] as number) - (ticks[0] as number) : 60;
  const clock = new Intl.DateTimeFormat(undefined, {
    hour: '2-digit',
    minute: '2-digit',
    ...(step < 60 && { second: '2-digit' }),
    ...(step >= 21_600 && { day: 'numeric', month: 'short' }),
  });
  return ticks.map((time) => clock.format(time * 1000));
}

export function LineChart(props: LineChartProps) {
  const { label, times, lines, unit, perSecond = false, start, end, limit, highlight = null, height = 220 } = props;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot | null>(null);
  const width = useWidth(box);
  const dark = useDark();
  const latest = useRef(props);
  latest.current = props;
  const names = lines.map((line) => line.label).join('\u0000');

  // biome-ignore lint/correctness/useExhaustiveDependencies: `names` stands for `lines`; data and window are set below
  useEffect(() => {
    if (box.current === null || width === 0) return;
    const colours = chartColours(dark);
    const format = (value: number) => quantity(value, unit, perSecond);
    const axis = {
      stroke: colours.text,
      grid: { stroke: colours.grid, width: 1 },
      ticks: { stroke: colours.grid, width: 1 },
    };
    const made = new UPlot(
      {
        width,
        height,
        // Room for half of the last time's width.
        padding: [null, 28, null, null],
        legend: { show: false },
        cursor: { drag: { x: true, y: false, setScale: false }, points: { size: 6 } },
        scales: {
          x: { time: true, range: () => [latest.current.start, latest.current.end] },
          y: {
            range: (_plot, low, high) => {
              const { limit: line } = latest.current;
              const top = Math.max(high ?? 0, line ?? Number.NEGATIVE_INFINITY);
              const bottom = Math.min(low ?? 0, 0, line ?? 0);
              return [bottom < 0 ? bottom * 1.08 : 0, top > 0 ? top * 1.08 : bottom < 0 ? 0 : 1];
            },
          },
        },
        axes: [
          {
            ...axis,
            // So that 05:33:05 has room where steps are of less than a minute, and over days 22 Nov, 05:33.
            space: (_plot, _axis, from, to, wide) =>
              to - from > 86_400 ? 120 : (to - from) * 56 <= wide * 30 ? 84 : 56,
            values: (_plot, ticks) => timeTicks(ticks),
          },
          {
            ...axis,
            size: 84,
            ...(unit === 'bytes' && { incrs: BINARY_STEPS }),
            values: (_plot, ticks) => ticks.map(format),
          },
        ],
        series: [
          {},
          ...lines.map((line, index) => ({
            label: line.label,
            stroke: seriesColour(index, dark),
            width: 1.5,
            spanGaps: false,
            points: { show: times.length < 3 },
          })),
        ],
        hooks: {
          draw: [
            (self) => {
              const line = latest.current.limit;
              if (line === undefined) return;
              const y = Math.round(self.valToPos(line, 'y', true));
              const { ctx, bbox } = self;
              ctx.save();
              ctx.strokeStyle = colours.limit;
              ctx.lineWidth = 2 * devicePixelRatio;
              ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
              ctx.beginPath();
              ctx.moveTo(bbox.left, y);
              ctx.lineTo(bbox.left + bbox.width, y);
              ctx.stroke();
              ctx.restore();
            },
          ],
          setCursor: [(self) => latest.current.onCursor?.(self.cursor.idx ?? null)],
          setSelect: [
            (self) => {
              if (self.select.width < 8) return;
              const from = self.posToVal(self.select.left, 'x');
              const to = self.posToVal(self.select.left + self.select.width, 'x');
              self.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
              latest.current.onSelect?.(from, to);
            },
          ],
        },
      },
      [times, ...lines.map((line) => line.values)] as UPlot.AlignedData,
      box.current,
    );
    plot.current = made;
    return () => {
      made.destroy();
      plot.current = null;
    };
  }, [width, height, dark, unit, perSecond, names]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new window or limit redraws as new data does
  useEffect(() => {
    if (plot.current !== null && plot.current.series.length === lines.length + 1) {
      plot.current.setData([times, ...lines.map((line) => line.values)] as UPlot.AlignedData);
    }
  }, [times, lines, start, end, limit]);

  useEffect(() => {
    const self = plot.current;
    if (self === null) return;
    const index = lines.findIndex((line) => line.label === highlight);
    for (let at = 1; at < self.series.length; at += 1) {
      const series = self.series[at] as UPlot.Series;
      series.alpha = index < 0 || at === index + 1 ? 1 : 0.2;
      series.width = at === index + 1 ? 3 : 1.5;
    }
    self.redraw(false);
  }, [highlight, lines]);

  return <div ref={box} role="img" aria-label={label} className="cistern-chart" style={{ height }} />;
}
