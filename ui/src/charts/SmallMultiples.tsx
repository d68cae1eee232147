// Small live charts beneath each other, or a single one, that only show: they have one time axis and share its cursor.
import { createContext, type ReactNode, use, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { SeriesFrame } from '../api/columns.ts';
import { asProblem } from '../api/problem.ts';
import { plural } from '../words/format.ts';
import { AxisContext, type Settled, TimeAxis, useTicking } from './axis.ts';
import { useSeriesFrame } from './frames.ts';
import { Colours, lastValue, linesOf, MAX_DRAWN, type Named } from './lines.ts';
import { SeriesChart } from './SeriesChart.tsx';
import { figureOf } from './units.ts';

/** Even the first seconds are drawn on an axis of a minute. */
const SHORTEST = 60;
const POINTS = 720;
const HEIGHT = 140;

interface Shared {
  readonly settled: Settled;
  /** Reported by each chart: since when there are values. */
  readonly begins: (chart: string, time: number) => void;
}
const SharedContext = createContext<Shared | null>(null);

export function SmallMultiples(props: {
  range: number;
  /** All of the range is shown, also where there is nothing yet. */
  whole?: boolean;
  children: ReactNode;
}) {
  const { range, whole = false } = props;
  const [axis] = useState(() => new TimeAxis({ range: whole ? range : SHORTEST, end: null }));
  const settled = useMemo((): Settled => ({ range, end: null }), [range]);
  const first = useRef(new Map<string, number>());
  useTicking(axis);
  // A machine that has just started shows what there is, not an hour of nothing.
  const begins = useCallback(
    (chart: string, time: number) => {
      first.current.set(chart, time);
      const known = whole ? range : axis.span.end - Math.min(...first.current.values());
      axis.set({ range: Math.min(range, Math.max(SHORTEST, known)), end: null });
    },
    [axis, range, whole],
  );
  const shared = useMemo(() => ({ settled, begins }), [settled, begins]);
  return (
    <AxisContext value={axis}>
      <SharedContext value={shared}>
        <div className="cistern-live">{props.children}</div>
      </SharedContext>
    </AxisContext>
  );
}

/** When the first line has its first value. */
function beginOf({ start, step, count, lines }: SeriesFrame): number | undefined {
  for (let i = 0; i < count; i += 1) {
    if (lines.some(({ values }) => !Number.isNaN(values[i] as number))) return start + i * step;
  }
  return undefined;
}

export function SmallChart(props: {
  title: string;
  /** PromQL; empty: nothing to draw yet. */
  query: string;
  unit: string;
  perSecond: boolean;
  nameOf: (labels: Readonly<Record<string, string>>) => Named;
  limit?: number | undefined;
  lowerLimit?: number | undefined;
  height?: number;
  /** At most so many points: an expression that is costly is asked for fewer. */
  points?: number;
}) {
  const { title, query, unit, perSecond, nameOf, limit, lowerLimit } = props;
  const shared = use(SharedContext);
  if (shared === null) throw new Error('a small chart stands among SmallMultiples');
  const { settled, begins } = shared;
  const [highlight, setHighlight] = useState<readonly string[]>([]);
  const colours = useRef(new Colours());
  const { data: frame, error } = useSeriesFrame(
    useCallback(() => query, [query]),
    settled,
    { enabled: query !== '', points: props.points ?? POINTS },
  );
  const lines = useMemo(
    () => (frame === undefined ? undefined : linesOf(frame, nameOf, colours.current, MAX_DRAWN, false)),
    [frame, nameOf],
  );
  const figure = useMemo(() => figureOf(unit, perSecond), [unit, perSecond]);
  useEffect(() => {
    const begin = frame === undefined ? undefined : beginOf(frame);
    if (begin !== undefined) begins(title, begin);
  }, [frame, begins, title]);
  const latest = (lines?.drawn ?? [])
    .map((line) => ({ text: line.text, value: lastValue(line.values) }))
    .filter(({ value }) => !Number.isNaN(value))
    .map(({ text, value }) => `${text} ${figure(value)}`)
    .join(' · ');
  return (
    <>
      <SeriesChart
        title={title}
        label={`${title}: ${latest || 'no values yet'}`}
        height={props.height ?? HEIGHT}
        {...{ query, frame, lines, unit, figure, highlight, limit, lowerLimit }}
        stacked={false}
        onHighlight={(key) =>
          setHighlight(highlight.includes(key) ? highlight.filter((one) => one !== key) : [...highlight, key])
        }
        fixed
        reading={frame === undefined && error === null && query !== ''}
        empty={
          frame === undefined && error !== null
            ? asProblem(error).title
            : 'No values yet: they appear with the first second.'
        }
      />
      {lines !== undefined && lines.drawn.length < lines.all.length && (
        <p className="cistern-quiet">
          {lines.drawn.length} of {plural(lines.all.length, 'series', 'series')}: those that differ most from the
          median.
        </p>
      )}
    </>
  );
}
