// Charts under one time axis, and their state in the address. The worksheet page and the page of a single statistic are
// both this, with something around it.
import { EmptyState, EmptyStateBody } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { Link, useSearchParams } from 'react-router';
import type { Schemas } from '../../api/client.ts';
import { AxisContext, type Settled, TimeAxis, useSettled, useTicking } from '../../charts/axis.ts';
import { plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { statisticsQuery } from '../statistics/queries.ts';
import { type Chart, readSheet, type Sheet, writeSheet } from '../worksheets/sheet.ts';
import { type Chosen, readChosen } from '../worksheets/variables.ts';
import { ChartPanel } from './ChartPanel.tsx';
import { type PageMark, useMarks } from './useMarks.ts';

/** So often at most is the address written while something is dragged. */
const WRITE_MS = 300;

export interface ChartsState {
  readonly axis: TimeAxis;
  readonly charts: readonly Chart[];
  /** Whether they differ from what is saved. */
  readonly differs: boolean;
  /** `step`: one that "back" undoes. */
  readonly setCharts: (charts: readonly Chart[] | null, step: boolean) => void;
  /** What the address says of variables. */
  readonly chosen: Chosen;
  readonly choose: (name: string, values: readonly string[]) => void;
}

/** `saved` is what the address need not hold. */
export function useCharts(saved: readonly Chart[], savedTime: Settled): ChartsState {
  const [query, setQuery] = useSearchParams();
  const [local, setLocal] = useState<readonly Chart[] | null>(() => readSheet(query).charts);
  const [chosen, setChosen] = useState<Chosen>(() => readChosen(query));
  const [axis] = useState(() => new TimeAxis(readSheet(query).time ?? savedTime));
  const written = useRef(query.toString());
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const wanted = useRef<Sheet>(readSheet(query));
  const write = useRef(setQuery);
  write.current = setQuery;

  const flush = useCallback((replace: boolean) => {
    clearTimeout(timer.current);
    const next = writeSheet(wanted.current);
    if (next.toString() === written.current) return;
    written.current = next.toString();
    write.current(next, { replace });
  }, []);

  // The user went back, or followed a link.
  useEffect(() => {
    if (query.toString() === written.current) return;
    clearTimeout(timer.current);
    written.current = query.toString();
    wanted.current = readSheet(query);
    setLocal(wanted.current.charts);
    setChosen(wanted.current.chosen ?? {});
    axis.set(wanted.current.time ?? savedTime);
  }, [query, axis, savedTime]);

  useEffect(() => {
    const stop = axis.onSettled(() => {
      const { range, end } = axis.settled;
      const { time } = wanted.current;
      if (time?.range === range && time.end === end) return;
      const isSaved = range === savedTime.range && end === savedTime.end;
      wanted.current = { ...wanted.current, time: isSaved ? null : { range, end } };
      clearTimeout(timer.current);
      timer.current = setTimeout(() => flush(true), WRITE_MS);
    });
    return () => {
      stop();
      clearTimeout(timer.current);
    };
  }, [axis, flush, savedTime]);
  useTicking(axis);

  const setCharts = useCallback(
    (charts: readonly Chart[] | null, step: boolean) => {
      setLocal(charts);
      wanted.current = { ...wanted.current, charts };
      clearTimeout(timer.current);
      if (step) flush(false);
      else timer.current = setTimeout(() => flush(true), WRITE_MS);
    },
    [flush],
  );
  const choose = useCallback(
    (name: string, values: readonly string[]) => {
      const next = { ...wanted.current.chosen, [name]: values };
      setChosen(next);
      wanted.current = { ...wanted.current, chosen: next };
      flush(false);
    },
    [flush],
  );
  return { axis, charts: local ?? saved, differs: local !== null, setCharts, chosen, choose };
}

const moment = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });

function MarkList({ marks, axis }: { marks: readonly PageMark[]; axis: TimeAxis }) {
  const { range, end } = useSettled(axis);
  const until = end ?? Date.now() / 1000;
  const seen = marks.filter((mark) => (mark.endTime ?? mark.time) >= until - range && mark.time <= until);
  if (seen.length === 0) return null;
  return (
    <details className="cistern-marks">
      <summary>{plural(seen.length, 'event')} in this time</summary>
      <ul>
        {seen.map((mark) => (
          <li key={`${mark.time} ${mark.kind} ${mark.title}`}>
            <time dateTime={new Date(mark.time * 1000).toISOString()}>
              {range > 86_400 ? moment.format(mark.time * 1000) : clock.format(mark.time * 1000)}
            </time>{' '}
            {mark.page === null ? mark.title : <Link to={mark.page}>{mark.title}</Link>}{' '}
            <span className="cistern-quiet">{mark.detail}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}

const NO_ANNOTATIONS: Schemas['Annotation'][] = [];

export function Charts(props: {
  state: ChartsState;
  annotations?: Schemas['Annotation'][];
  /** Whether charts may be taken away and moved. */
  several: boolean;
  empty: ReactNode;
}) {
  const { axis, charts, setCharts } = props.state;
  const settled = useSettled(axis);
  const measured = charts.some(({ statistic }) => statistic !== undefined);
  const { data: statistics, error, refetch } = useQuery({ ...statisticsQuery, enabled: measured });
  const marks = useMarks(settled, props.annotations ?? NO_ANNOTATIONS);
  const latest = useRef(charts);
  latest.current = charts;
  const change = useCallback(
    (chart: Chart, step = true) =>
      setCharts(
        latest.current.map((one) => (one.id === chart.id ? chart : one)),
        step,
      ),
    [setCharts],
  );
  const move = (index: number, by: number) => {
    const moved = [...charts];
    const [chart] = moved.splice(index, 1);
    moved.splice(index + by, 0, chart as Chart);
    setCharts(moved, true);
  };
  const provided = useMemo(() => axis, [axis]);
  return (
    <AxisContext value={provided}>
      {measured && <ProblemAlert error={error} stale retry={() => void refetch()} />}
      <MarkList marks={marks} axis={axis} />
      {charts.length === 0 && props.empty}
      {charts.map((chart, index) => (
        <ChartPanel
          key={chart.id}
          chart={chart}
          change={change}
          statistics={statistics}
          marks={marks}
          move={
            props.several
              ? {
                  up: index > 0 ? () => move(index, -1) : null,
                  down: index < charts.length - 1 ? () => move(index, 1) : null,
                }
              : null
          }
          remove={
            props.several
              ? () =>
                  setCharts(
                    charts.filter(({ id }) => id !== chart.id),
                    true,
                  )
              : null
          }
        />
      ))}
    </AxisContext>
  );
}

export function NoCharts({ children }: { children: ReactNode }) {
  return (
    <EmptyState titleText="No charts yet" headingLevel="h2" variant="sm">
      <EmptyStateBody>{children}</EmptyStateBody>
    </EmptyState>
  );
}
