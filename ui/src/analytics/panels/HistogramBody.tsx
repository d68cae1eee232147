// A histogram over time: heatmap, the distribution under the cursor, quantiles, and how many are beyond the limit.
import { Button } from '@patternfly/react-core';
import { type ReactNode, type RefObject, useEffect, useMemo, useRef, useState } from 'react';
import { useAxis, useCursor, useSettled } from '../../charts/axis.ts';
import { beyondLimit, columnsWithin, NO_BINS, triples } from '../../charts/bins.ts';
import { columnAt } from '../../charts/columnAt.ts';
import { csv, download, type Exporter, fileName, picture } from '../../charts/download.ts';
import { useBinsFrame, useSeriesFrame } from '../../charts/frames.ts';
import { gapsOf } from '../../charts/gaps.ts';
import { HeatmapChart, useSeen } from '../../charts/HeatmapChart.tsx';
import { overSentence } from '../../charts/overLimit.ts';
import type { PlotMark } from '../../charts/pen.ts';
import { eventlessSince, silentSince } from '../../charts/silent.ts';
import { figureOf } from '../../charts/units.ts';
import { useDark } from '../../theme/theme.ts';
import { percent } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { type Chart, changed } from '../worksheets/sheet.ts';
import { SHIFTS } from './SeriesBody.tsx';
import { type FilterBy, WhyThese } from './WhyThese.tsx';

const HEIGHT = 280;
const NEVER = () => '';
const NO_QUANTILES: readonly number[] = [];
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const dayAndClock = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

export function HistogramBody(props: {
  chart: Chart;
  change: (chart: Chart, step?: boolean) => void;
  title: string;
  selector: string;
  unit: string;
  marks: readonly PlotMark[];
  exporter: RefObject<Exporter | null>;
  empty: string;
  /** Adds a filter to the chart. */
  filter: FilterBy;
  /** What "Why these?" offers beside. */
  offers?: ReactNode;
  /** PromQL that has a value wherever something was measured, also when nothing happened; null: it is not known. */
  measured: ((step: number) => string) | null;
}) {
  const { chart, change, title, selector, unit } = props;
  const { scale = 'auto', trim = 0, limit } = chart;
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
  const live = settled.end === null;
  // Where the counts of seconds without events are known, those are data.
  const since = useMemo(() => {
    if (!live || frame === undefined) return null;
    if (props.measured === null) return eventlessSince(frame);
    return measured.data === undefined ? null : silentSince(measured.data);
  }, [live, frame, measured.data, props.measured]);
  const figure = useMemo(() => figureOf(unit, false), [unit]);
  const compare = useMemo(
    () =>
      shift === 0 || before.data === undefined
        ? null
        : { frame: before.data, shift, text: chart.compare === 'day' ? 'the day before' : 'the week before' },
    [shift, before.data, chart.compare],
  );
  const [drawing, setDrawing] = useState(false);
  const [seen, extent] = useSeen(frame, scale, trim);

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
          for (const [lower, upper, count] of triples(frame.columns[i] ?? NO_BINS)) {
            rows.push([new Date(time * 1000).toISOString(), time, lower, upper, count]);
          }
        }
        download(new Blob([csv(rows)], { type: 'text/csv' }), fileName(title, 'csv'));
      },
    };
  }, [frame, dark, title, axis, props.exporter]);

  const column = frame?.columns[columnAt(frame, cursor)] ?? NO_BINS;
  return (
    <>
      {limit !== undefined && frame !== undefined && (
        <p className="cistern-over" aria-live="polite">
          {cursor !== null && column.total > 0 && (
            <>
              At {clock.format(cursor * 1000)}:{' '}
              {overSentence(beyondLimit(column, limit), column.total, limit, unit, figure)};{' '}
            </>
          )}
          {seen.total === 0
            ? 'Nothing was measured in this time.'
            : `${overSentence(beyondLimit(seen, limit), seen.total, limit, unit, figure)} since ${dayAndClock.format(axis.span.start * 1000)}.`}
        </p>
      )}
      {frame !== undefined && <ProblemAlert error={error} stale retry={() => void refetch()} />}
      {frame !== undefined && (
        <div className="cistern-whyask">
          <Button variant="secondary" size="sm" aria-pressed={drawing} onClick={() => setDrawing(!drawing)}>
            {drawing ? 'Draw a box on the heatmap…' : 'Why these?'}
          </Button>
        </div>
      )}
      <div className="cistern-binsbody">
        <HeatmapChart
          {...{ title, frame, error, unit, figure, scale, trim, limit, gaps, compare }}
          retry={() => void refetch()}
          box={{
            shown: chart.box,
            ...{ drawing, setDrawing },
            take: (box) => {
              setDrawing(false);
              change(changed(chart, { box }));
            },
          }}
          height={HEIGHT}
          quantiles={chart.quantiles ?? NO_QUANTILES}
          onLimit={(next) => change(changed(chart, { limit: next }), false)}
          marks={props.marks}
          silent={{ since, of: props.measured === null ? 'events' : 'data' }}
          empty={props.empty}
          canvasRef={(element) => {
            canvas.current = element;
          }}
        />
      </div>
      {chart.box !== undefined && (
        <WhyThese
          {...{ selector, figure }}
          box={chart.box}
          filter={props.filter}
          close={() => change(changed(chart, { box: undefined }))}
        >
          {props.offers}
        </WhyThese>
      )}
      {extent.above > 0 && (
        <p className="cistern-quiet">
          {Math.round(extent.above).toLocaleString('en-US')} above {figure(extent.upper)} (
          {percent(extent.above / extent.total, 2)}) are not drawn.
        </p>
      )}
    </>
  );
}
