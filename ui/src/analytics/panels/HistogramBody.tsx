// A histogram over time: heatmap, the distribution under the cursor, quantiles, and how many are beyond the limit.
import { type RefObject, useCallback, useEffect, useMemo, useRef } from 'react';
import type { Bins, BinsFrame } from '../../api/columns.ts';
import { useAxis, useCursor, useSettled } from '../../charts/axis.ts';
import { beyondLimit, columnsWithin, extentOf, mergeBins, onEdge, quantileOf, triples } from '../../charts/bins.ts';
import { Distribution } from '../../charts/Distribution.tsx';
import { overSentence } from '../../charts/distribution.ts';
import { csv, download, fileName, picture } from '../../charts/download.ts';
import { useBinsFrame, useSeriesFrame } from '../../charts/frames.ts';
import { gapsOf } from '../../charts/gaps.ts';
import { type Pen, Plot, type PlotMark } from '../../charts/Plot.tsx';
import { PlotNote } from '../../charts/PlotNote.tsx';
import { heatmapImage, paintHeatmap } from '../../charts/paintHeatmap.ts';
import { figureOf } from '../../charts/units.ts';
import { useDark } from '../../theme/theme.ts';
import { percent, type Unit } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { type Chart, changed } from '../worksheets/sheet.ts';
import { type Exporter, SHIFTS } from './SeriesBody.tsx';

const HEIGHT = 280;
const NEVER = () => '';
const NOTHING: Bins = { at: new Int32Array(), counts: new Float64Array(), total: 0 };
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const dayAndClock = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

function quantilesOver(frame: BinsFrame, q: number): Float64Array {
  return Float64Array.from(frame.columns, (column) => (column === null ? Number.NaN : quantileOf(column, q)));
}

export function BinsBody(props: {
  chart: Chart;
  change: (chart: Chart, step?: boolean) => void;
  title: string;
  selector: string;
  unit: string;
  marks: readonly PlotMark[];
  exporter: RefObject<Exporter | null>;
  empty: string;
  /** PromQL that has a value wherever something was measured, also when nothing happened; null: nobody can tell. */
  measured: ((step: number) => string) | null;
}) {
  const { chart, change, title, selector, unit } = props;
  const axis = useAxis();
  const settled = useSettled(axis);
  const dark = useDark();
  const canvas = useRef<HTMLCanvasElement | null>(null);
  const cursor = useCursor(axis);
  const { data: frame, error, refetch } = useBinsFrame(selector, settled);
  const shift = chart.compare === undefined ? 0 : SHIFTS[chart.compare];
  const before = useBinsFrame(selector, settled, { enabled: shift > 0, shift });
  const measured = useSeriesFrame(props.measured ?? NEVER, settled, { enabled: props.measured !== null });
  const gaps = useMemo(
    () => (frame === undefined || measured.data === undefined ? [] : gapsOf(frame, measured.data)),
    [frame, measured.data],
  );
  const figure = useMemo(() => figureOf(unit, false), [unit]);
  const words: Unit = unit === 'seconds' ? 'seconds' : unit === 'bytes' ? 'bytes' : 'plain';
  const { scale = 'auto', trim = 0, limit } = chart;
  const quantiles = chart.quantiles ?? [];
  const wanted = quantiles.join(' ');

  // biome-ignore lint/correctness/useExhaustiveDependencies: what is seen is what has settled
  const seen = useMemo(() => {
    if (frame === undefined) return NOTHING;
    const { start, end } = axis.span;
    return mergeBins(frame.columns, ...columnsWithin(frame, start, end));
  }, [frame, settled, axis]);
  const extent = useMemo(() => extentOf(seen, scale, trim), [seen, scale, trim]);
  const image = useMemo(() => (frame === undefined ? null : heatmapImage(frame, extent, dark)), [frame, extent, dark]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `wanted` stands for `quantiles`
  const lines = useMemo(() => {
    if (frame === undefined) return [];
    const now = quantiles.map((q) => ({ text: `p${q * 100}`, values: quantilesOver(frame, q), dashed: false }));
    if (shift === 0 || before.data === undefined) return now;
    const { data } = before;
    // On this chart's columns: those of the other time have the same step, or are drawn where they are nearest.
    const moved = Math.round((data.start + shift - frame.start) / frame.step);
    return [
      ...now,
      ...(quantiles.length > 0 ? quantiles : [0.5]).map((q) => {
        const values = new Float64Array(frame.columns.length).fill(Number.NaN);
        for (const [i, value] of quantilesOver(data, q).entries()) {
          const at = moved + Math.round((i * data.step) / frame.step);
          if (at >= 0 && at < values.length) values[at] = value;
        }
        return { text: `p${q * 100} before`, values, dashed: true };
      }),
    ];
  }, [frame, wanted, shift, before.data]);
  const beyond = useMemo(
    () =>
      limit === undefined || frame === undefined
        ? null
        : Float64Array.from(frame.columns, (column) => (column === null ? 0 : beyondLimit(column, limit))),
    [limit, frame],
  );

  const paint = useCallback(
    (pen: Pen) => {
      if (frame === undefined || image === null) return null;
      return paintHeatmap(pen, { frame, extent, image, unit, figure, lines, linesStart: frame.start, beyond, gaps });
    },
    [frame, extent, image, unit, figure, lines, beyond, gaps],
  );

  useEffect(() => {
    if (frame === undefined) return;
    props.exporter.current = {
      png: () => {
        if (canvas.current === null) return;
        void picture(canvas.current, title, [], dark).then((blob) => download(blob, fileName(title, 'png')));
      },
      csv: () => {
        const { start, end } = axis.span;
        const [from, until] = columnsWithin(frame, start, end);
        const rows: (string | number)[][] = [['time', 'epoch', 'lower', 'upper', 'count']];
        for (let i = from; i < until; i += 1) {
          const time = frame.start + i * frame.step;
          for (const [lower, upper, count] of triples(frame.columns[i] ?? NOTHING)) {
            rows.push([new Date(time * 1000).toISOString(), time, lower, upper, count]);
          }
        }
        download(new Blob([csv(rows)], { type: 'text/csv' }), fileName(title, 'csv'));
      },
    };
  }, [frame, dark, title, axis, props.exporter]);

  if (error && frame === undefined) return <ProblemAlert error={error} retry={() => void refetch()} />;
  const step = frame?.step ?? 1;
  const place = frame === undefined || cursor === null ? -1 : Math.floor((cursor - frame.start) / step + 1e-9);
  const column = place < 0 ? seen : (frame?.columns[place] ?? NOTHING);
  const over = limit === undefined ? 0 : beyondLimit(seen, limit);
  return (
    <>
      {limit !== undefined && frame !== undefined && (
        <p className="cistern-over" aria-live="polite">
          {place >= 0 && column.total > 0 && (
            <>
              At {clock.format((cursor as number) * 1000)}:{' '}
              {overSentence(beyondLimit(column, limit), column.total, limit, words)};{' '}
            </>
          )}
          {seen.total === 0
            ? 'Nothing was measured in this time.'
            : `${overSentence(over, seen.total, limit, words)} since ${dayAndClock.format(axis.span.start * 1000)}.`}
        </p>
      )}
      <ProblemAlert error={error} stale retry={() => void refetch()} />
      <div className="cistern-binsbody">
        <div className="cistern-plotbox">
          <Plot
            label={`Heatmap of ${title}: ${frame === undefined ? 'being read' : `${Math.round(seen.total).toLocaleString('en-US')} events`}`}
            height={HEIGHT}
            paint={paint}
            marks={props.marks}
            step={step}
            limit={limit}
            limitText={limit === undefined ? '' : figure(limit)}
            snap={onEdge}
            onLimit={(next) => change(changed(chart, { limit: next }), false)}
            canvasRef={(element) => {
              canvas.current = element;
            }}
          >
            <PlotNote reading={frame === undefined} empty={seen.total === 0 ? props.empty : null} />
          </Plot>
          <p className="cistern-quiet cistern-under">
            {gaps.length > 0 && 'Hatched: not measured. '}
            {extent.above > 0 &&
              `${Math.round(extent.above).toLocaleString('en-US')} above ${figure(extent.upper)} (${percent(extent.above / extent.total, 2)}) are not drawn. `}
            {quantiles.length > 0 &&
              `Line${quantiles.length > 1 ? 's' : ''}: ${quantiles.map((q) => `p${q * 100}`).join(', ')}. `}
            {chart.compare !== undefined &&
              `Dashed: ${(quantiles.length > 0 ? quantiles : [0.5]).map((q) => `p${q * 100}`).join(', ')} ${chart.compare === 'day' ? 'the day' : 'the week'} before. `}
          </p>
        </div>
        <Distribution
          bins={frame === undefined ? null : triples(column)}
          unit={words}
          scale={extent.scale}
          title={place < 0 ? 'All that is shown' : clock.format((cursor as number) * 1000)}
        />
      </div>
    </>
  );
}

/** Where a limit line begins: at the p99, on the edge of a bin. */
export function firstLimit(bins: Bins): number {
  const at = quantileOf(bins, 0.99);
  return Number.isNaN(at) ? 1 : onEdge(at);
}
