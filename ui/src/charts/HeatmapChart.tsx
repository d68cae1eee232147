// A histogram over time, its quantiles and its limit, with the legend and the distribution under the cursor.
import { useCallback, useMemo } from 'react';
import type { Bins, BinsFrame } from '../api/columns.ts';
import { useDark } from '../theme/theme.ts';
import { compact } from '../words/format.ts';
import { ProblemAlert } from '../words/ProblemAlert.tsx';
import { useAxis, useCursor, useSettled } from './axis.ts';
import {
  beyondLimit,
  columnsWithin,
  type Extent,
  extentOf,
  mergeBins,
  NO_BINS,
  onEdge,
  quantileOf,
  type Scale,
} from './bins.ts';
import { type Box, boxInWords, paintBox } from './box.ts';
import { columnAt } from './columnAt.ts';
import { Distribution } from './Distribution.tsx';
import { Legend, type LegendItem } from './Legend.tsx';
import { lastValue } from './lines.ts';
import { Plot } from './Plot.tsx';
import { PlotNote } from './PlotNote.tsx';
import { heatmapImage, paintHeatmap } from './paintHeatmap.ts';
import type { Pen, PlotMark } from './pen.ts';
import { RepeatsNote } from './RepeatsNote.tsx';
import { SilentNote } from './SilentNote.tsx';
import type { Figure } from './units.ts';
import { useRepeats } from './useRepeats.ts';

export interface HeatmapChartProps {
  readonly title: string;
  readonly height: number;
  /** undefined: not read yet, or it cannot be. */
  readonly frame: BinsFrame | undefined;
  /** Why it cannot be read. */
  readonly error: unknown;
  readonly retry: () => void;
  /** What is marked of it; left out: nothing can be. */
  readonly box?: HeatmapBox | undefined;
  readonly unit: string;
  readonly figure: Figure;
  readonly scale: 'auto' | Scale;
  /** The share of all events that may be cut off at the top. */
  readonly trim: number;
  readonly quantiles: readonly number[];
  readonly limit?: number | undefined;
  readonly onLimit?: (limit: number) => void;
  /** An earlier time, moved by `shift` seconds to this one: its quantiles are dashed. */
  readonly compare?: { readonly frame: BinsFrame; readonly shift: number; readonly text: string } | null;
  /** The columns in which nothing was measured: see gaps.ts. */
  readonly gaps: readonly (readonly [number, number])[];
  readonly marks: readonly PlotMark[];
  /** Since when nothing has come, seconds, and what; left out: it goes on, or is not live. */
  readonly silent?: { readonly since: number | null; readonly of: 'data' | 'events' };
  readonly empty: string;
  readonly canvasRef?: (canvas: HTMLCanvasElement | null) => void;
}

export interface HeatmapBox {
  readonly shown: Box | undefined;
  /** A box is being drawn. */
  readonly drawing: boolean;
  readonly setDrawing: (drawing: boolean) => void;
  readonly take: (box: Box) => void;
}

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });

function quantilesOver(frame: BinsFrame, q: number): Float64Array {
  return Float64Array.from(frame.columns, (column) => (column === null ? Number.NaN : quantileOf(column, q)));
}

/** All that is seen, as one histogram, and the values that are drawn of it. */
export function useSeen(frame: BinsFrame | undefined, scale: 'auto' | Scale, trim: number): [Bins, Extent] {
  const axis = useAxis();
  const settled = useSettled(axis);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is seen is what has settled
  const seen = useMemo(() => {
    if (frame === undefined) return NO_BINS;
    const { start, end } = axis.span;
    return mergeBins(frame.columns, ...columnsWithin(frame, start, end));
  }, [frame, settled, axis]);
  const extent = useMemo(() => extentOf(seen, scale, trim), [seen, scale, trim]);
  return [seen, extent];
}

export function HeatmapChart(props: HeatmapChartProps) {
  const { title, frame, unit, figure, limit, gaps, compare = null } = props;
  const axis = useAxis();
  const cursor = useCursor(axis);
  const dark = useDark();
  const wanted = props.quantiles.join(' ');
  const [seen, extent] = useSeen(frame, props.scale, props.trim);
  const image = useMemo(() => (frame === undefined ? null : heatmapImage(frame, extent, dark)), [frame, extent, dark]);
  const lines = useMemo(() => {
    if (frame === undefined) return [];
    const quantiles = wanted === '' ? [] : wanted.split(' ').map(Number);
    const now = quantiles.map((q) => ({ text: `p${q * 100}`, values: quantilesOver(frame, q), dashed: false }));
    if (compare === null) return now;
    // On this chart's columns: those of the other time have the same step, or are drawn where they are nearest.
    const moved = Math.round((compare.frame.start + compare.shift - frame.start) / frame.step);
    return [
      ...now,
      ...(quantiles.length > 0 ? quantiles : [0.5]).map((q) => {
        const values = new Float64Array(frame.columns.length).fill(Number.NaN);
        for (const [i, value] of quantilesOver(compare.frame, q).entries()) {
          const at = moved + Math.round((i * compare.frame.step) / frame.step);
          if (at >= 0 && at < values.length) values[at] = value;
        }
        return { text: `p${q * 100}, ${compare.text}`, values, dashed: true };
      }),
    ];
  }, [frame, wanted, compare]);
  const beyond = useMemo(
    () =>
      limit === undefined || frame === undefined
        ? null
        : Float64Array.from(frame.columns, (column) => (column === null ? 0 : beyondLimit(column, limit))),
    [limit, frame],
  );
  const rhythms = useMemo(() => {
    if (frame === undefined) return [];
    const events = Float64Array.from(frame.columns, (column) => column?.total ?? 0);
    for (const [from, until] of gaps) events.fill(Number.NaN, from, until);
    return [{ text: 'How many there are', values: events }, ...lines.filter(({ dashed }) => !dashed)];
  }, [frame, gaps, lines]);
  const repeats = useRepeats(title, frame?.start ?? 0, frame?.step ?? 1, rhythms);
  const shownBox = props.box?.shown;
  const paint = useCallback(
    (pen: Pen) => {
      if (frame === undefined || image === null) return null;
      const drawn = { frame, extent, image, unit, figure, lines, linesStart: frame.start, beyond, gaps };
      const scale = paintHeatmap(pen, drawn);
      if (shownBox !== undefined) paintBox(pen, scale, shownBox);
      return scale;
    },
    [frame, extent, image, unit, figure, lines, beyond, gaps, shownBox],
  );

  const place = columnAt(frame, cursor);
  const column = place < 0 ? seen : (frame?.columns[place] ?? NO_BINS);
  const last = frame?.columns.findLast((one) => one !== null) ?? NO_BINS;
  const written = (value: number) => (Number.isNaN(value) ? '–' : figure(value));
  const events = place < 0 ? last.total : column.total;
  const items: LegendItem[] = [
    { key: 'ramp', text: 'Events', value: compact(events), swatch: 'ramp' },
    ...lines.map(({ text, values, dashed }): LegendItem => {
      const value = place < 0 ? lastValue(values) : (values[place] ?? Number.NaN);
      return { key: text, text, value: written(value), swatch: dashed ? 'dashed' : 'plain' };
    }),
    ...(gaps.length > 0
      ? [{ key: 'gaps', text: 'Not measured', value: null, swatch: 'hatched' } satisfies LegendItem]
      : []),
  ];
  if (frame === undefined && props.error) return <ProblemAlert error={props.error} retry={props.retry} />;
  const { box } = props;
  return (
    <>
      <div className="cistern-plotbox">
        <Plot
          label={`Heatmap of ${title}: ${frame === undefined ? 'being read' : `${Math.round(seen.total).toLocaleString('en-US')} events`}`}
          height={props.height}
          paint={paint}
          marks={props.marks}
          step={frame?.step ?? 1}
          limit={limit}
          limitText={limit === undefined ? '' : figure(limit)}
          snap={onEdge}
          drawing={
            box && {
              on: box.drawing,
              done: box.take,
              cancel: () => box.setDrawing(false),
              words: (one) => `Box: ${boxInWords(one, figure)}`,
            }
          }
          onLimit={props.onLimit}
          read={(time) => {
            const bins = frame?.columns[columnAt(frame, time)] ?? NO_BINS;
            const [middle, high] = [quantileOf(bins, 0.5), quantileOf(bins, 0.99)];
            return `${clock.format(time * 1000)}: ${compact(bins.total)} events, p50 ${written(middle)}, p99 ${written(high)}`;
          }}
          canvasRef={props.canvasRef}
        >
          <PlotNote reading={frame === undefined} empty={seen.total === 0 ? props.empty : null} />
        </Plot>
        {props.silent !== undefined && <SilentNote {...props.silent} />}
        {(props.silent?.since ?? null) === null && <RepeatsNote said={repeats} />}
        {frame !== undefined && <Legend title={title} items={items} cursor={cursor} dark={dark} />}
      </div>
      <Distribution
        bins={frame === undefined ? null : column}
        figure={figure}
        scale={extent.scale}
        of={title}
        title={place < 0 ? 'All that is shown' : clock.format((cursor as number) * 1000)}
      />
    </>
  );
}
