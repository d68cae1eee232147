// Charts of a time that is given: those of an alert, and of series that changed. They only show.
import { useCallback, useMemo, useRef, useState } from 'react';
import { useMeasure } from '../api/measure.ts';
import { asProblem } from '../api/problem.ts';
import { AxisContext, type TimeAxis, useSettled } from './axis.ts';
import { useBinsFrame, useSeriesFrame } from './frames.ts';
import { HeatmapChart } from './HeatmapChart.tsx';
import { Colours, linesOf, MAX_DRAWN, type Named } from './lines.ts';
import type { PlotMark } from './pen.ts';
import { SeriesChart } from './SeriesChart.tsx';
import { seriesInFull } from './seriesName.ts';
import { figureOf } from './units.ts';

type Labels = Readonly<Record<string, string>>;

const SMALL = 110;
const POINTS = 720;
const NO_QUANTILES: readonly number[] = [];
const NO_GAPS: readonly (readonly [number, number])[] = [];
const NO_MARKS: readonly PlotMark[] = [];

const keyOf = (labels: Labels) => JSON.stringify(Object.entries(labels).sort());

/** Series over a time that cannot be changed here. */
export function FixedLines(props: {
  axis: TimeAxis;
  title: string;
  query: string;
  /** Only the series of these labels; null: all. */
  only: Labels | null;
  limit: number | undefined;
  marks: readonly PlotMark[];
  height: number;
}) {
  const { axis, title, query, only, limit, marks, height } = props;
  const settled = useSettled(axis);
  const [highlight, setHighlight] = useState<readonly string[]>([]);
  const colours = useRef(new Colours());
  const ask = useCallback(() => query, [query]);
  const { data, error } = useSeriesFrame(ask, settled, { points: POINTS });
  const own = only === null ? null : keyOf(only);
  const frame = useMemo(
    () =>
      data === undefined || own === null
        ? data
        : { ...data, lines: data.lines.filter((one) => keyOf(one.labels) === own) },
    [data, own],
  );
  const lines = useMemo(() => {
    const nameOf = (labels: Labels): Named => {
      const text = seriesInFull(labels) || title;
      return { key: text, text };
    };
    return frame === undefined ? undefined : linesOf(frame, nameOf, colours.current, MAX_DRAWN, false);
  }, [frame, title]);
  const { unit, perSecond } = useMeasure(query);
  const figure = useMemo(() => figureOf(unit, perSecond), [unit, perSecond]);
  return (
    <SeriesChart
      title={title}
      label={`${title}: ${lines === undefined ? 'being read' : `${lines.all.length} series`}`}
      {...{ query, height, frame, lines, highlight, limit, marks, figure }}
      unit={unit}
      stacked={false}
      onHighlight={(key) =>
        setHighlight(highlight.includes(key) ? highlight.filter((one) => one !== key) : [...highlight, key])
      }
      fixed
      reading={frame === undefined && error === null}
      empty={frame === undefined && error !== null ? asProblem(error).title : 'No values in this time.'}
    />
  );
}

/** A histogram over such a time. */
export function FixedHeatmap(props: {
  axis: TimeAxis;
  title: string;
  selector: string;
  limit: number | undefined;
  /** The limit can be moved. */
  onLimit?: (limit: number) => void;
  marks: readonly PlotMark[];
  height: number;
}) {
  const { axis, title, selector, limit, marks, height } = props;
  const { data: frame, error, refetch } = useBinsFrame(selector, useSettled(axis));
  const { unit } = useMeasure(selector);
  const figure = useMemo(() => figureOf(unit, false), [unit]);
  return (
    <div className="cistern-binsbody">
      <HeatmapChart
        retry={() => void refetch()}
        {...{ title, frame, error, figure, limit, marks, height }}
        {...(props.onLimit !== undefined && { onLimit: props.onLimit })}
        unit={unit}
        scale="auto"
        trim={0}
        quantiles={NO_QUANTILES}
        gaps={NO_GAPS}
        empty="Nothing was measured in this time."
      />
    </div>
  );
}

/** One of the series that changed, over the time of an axis. */
export function ChangedChart(props: {
  series: { readonly labels: Labels; readonly measure: 'value' | 'rate' | 'median'; readonly query: string };
  axis: TimeAxis;
}) {
  const { series, axis } = props;
  const title = seriesInFull(series.labels);
  const shared = { axis, title, limit: undefined, marks: NO_MARKS, height: SMALL };
  return (
    <AxisContext value={axis}>
      {series.measure === 'median' ? (
        <FixedHeatmap {...shared} selector={series.query} />
      ) : (
        <FixedLines {...shared} query={series.query} only={null} />
      )}
    </AxisContext>
  );
}
