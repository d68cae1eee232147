// Series over time, stacked or as lines, with their legend.
import { useCallback, useMemo } from 'react';
import type { SeriesFrame } from '../api/columns.ts';
import { useDark } from '../theme/theme.ts';
import { useAxis, useCursor, useSettled } from './axis.ts';
import { Legend, type LegendItem } from './Legend.tsx';
import { type Lines, lastValue } from './lines.ts';
import { Plot } from './Plot.tsx';
import { PlotNote } from './PlotNote.tsx';
import { paintLines } from './paintLines.ts';
import type { Pen, PlotMark } from './pen.ts';
import { RepeatsNote } from './RepeatsNote.tsx';
import type { Line } from './repeats.ts';
import { SilentNote } from './SilentNote.tsx';
import type { Figure } from './units.ts';
import { useRepeats } from './useRepeats.ts';
import { useSilent } from './useSilent.ts';

export interface SeriesChartProps {
  readonly title: string;
  /** Read by screen readers. */
  readonly label: string;
  readonly height: number;
  /** What it is drawn of; empty: nothing yet. */
  readonly query: string;
  /** undefined: not read yet. */
  readonly frame: SeriesFrame | undefined;
  readonly lines: Lines | undefined;
  readonly stacked: boolean;
  readonly unit: string;
  readonly figure: Figure;
  readonly highlight: readonly string[];
  readonly onHighlight: (key: string) => void;
  /** The lines are listed with their values beside the chart: the legend has only what else is drawn. */
  readonly listed?: boolean;
  readonly limit?: number | undefined;
  /** The lower end of a band, of which `limit` is the upper one. */
  readonly lowerLimit?: number | undefined;
  readonly onLimit?: (limit: number) => void;
  /** The total of an earlier time, moved to this one, and which time that was. */
  readonly compare?: {
    readonly start: number;
    readonly step: number;
    readonly values: Float64Array;
    readonly text: string;
  } | null;
  /** One line of another size, from 0 to its greatest on the right. */
  readonly right?: {
    readonly start: number;
    readonly step: number;
    readonly values: Float64Array;
    readonly text: string;
  } | null;
  readonly marks?: readonly PlotMark[];
  readonly fixed?: boolean;
  readonly reading: boolean;
  readonly empty: string;
  readonly canvasRef?: (canvas: HTMLCanvasElement | null) => void;
}

const NO_MARKS: readonly PlotMark[] = [];
const NO_LINES: readonly Line[] = [];
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });

export function SeriesChart(props: SeriesChartProps) {
  const {
    title,
    frame,
    lines,
    stacked,
    unit,
    figure,
    highlight,
    limit,
    lowerLimit,
    compare = null,
    right = null,
    fixed = false,
  } = props;
  const axis = useAxis();
  const cursor = useCursor(axis);
  const dark = useDark();
  const silent = useSilent(props.query, frame, useSettled(axis).end === null);
  const repeats = useRepeats(props.query, frame?.start ?? 0, frame?.step ?? 1, lines?.drawn ?? NO_LINES);
  const bright = highlight.join('\u0000');

  const picture = useMemo(
    () =>
      frame === undefined || lines === undefined
        ? null
        : {
            start: frame.start,
            step: frame.step,
            count: frame.count,
            ...{ lines, stacked, unit, figure, limit, lowerLimit, compare, right },
            highlight: bright === '' ? [] : bright.split('\u0000'),
          },
    [frame, lines, stacked, bright, unit, figure, limit, lowerLimit, compare, right],
  );
  const paint = useCallback((pen: Pen) => (picture === null ? null : paintLines(pen, picture)), [picture]);

  const written = (value: number) => (Number.isNaN(value) ? '–' : figure(value));
  const valueAt = (values: Float64Array, start: number, step: number, time: number | null) =>
    time === null ? lastValue(values) : (values[Math.round((time - start) / step)] ?? Number.NaN);
  const lineItems = (time: number | null): LegendItem[] =>
    frame === undefined || lines === undefined
      ? []
      : lines.drawn.map((line) => ({
          key: line.key,
          text: line.text,
          value: written(valueAt(line.values, frame.start, frame.step, time)),
          swatch: { colour: line.colour },
        }));
  const items: LegendItem[] = props.listed ? [] : lineItems(cursor);
  if (compare !== null) {
    const value = written(valueAt(compare.values, compare.start, compare.step, cursor));
    items.push({ key: '\u0000compare', text: `Total, ${compare.text}`, value, swatch: 'dashed' });
  }
  if (right !== null) {
    const value = written(valueAt(right.values, right.start, right.step, cursor));
    items.push({ key: '\u0000right', text: right.text, value, swatch: 'dashed' });
  }
  if (limit !== undefined && !props.listed) {
    const value = lowerLimit === undefined ? figure(limit) : `${figure(lowerLimit)} to ${figure(limit)}`;
    items.push({ key: '\u0000limit', text: lowerLimit === undefined ? 'Limit' : 'Expected', value, swatch: 'limit' });
  }
  return (
    <>
      <Plot
        label={props.label}
        height={props.height}
        paint={paint}
        marks={props.marks ?? NO_MARKS}
        step={frame?.step ?? 1}
        limit={limit}
        lowerLimit={lowerLimit}
        limitText={limit === undefined ? '' : figure(limit)}
        snap={(value) => Number(value.toPrecision(3))}
        onLimit={props.onLimit}
        fixed={fixed}
        read={(time) =>
          `${clock.format(time * 1000)}: ${lineItems(time)
            .slice(0, 8)
            .map(({ text, value }) => `${text} ${value}`)
            .join(', ')}`
        }
        canvasRef={props.canvasRef}
      >
        <PlotNote reading={props.reading} empty={(lines?.all.length ?? 0) === 0 ? props.empty : null} />
      </Plot>
      <SilentNote since={silent} of="data" />
      {silent === null && <RepeatsNote said={repeats} />}
      <Legend
        title={title}
        items={items}
        cursor={cursor}
        dark={dark}
        highlight={highlight}
        onHighlight={props.onHighlight}
      />
    </>
  );
}
