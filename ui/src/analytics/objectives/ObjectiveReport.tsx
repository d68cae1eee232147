// The past by an objective as it is typed: its sentence, the histogram with the limit to drag, how the budget was used up, and
// the period beside the one before it.
import { ToggleGroup, ToggleGroupItem } from '@patternfly/react-core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useDeferredValue, useMemo, useRef, useState } from 'react';
import { Link } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { AxisContext, TimeAxis, useTicking } from '../../charts/axis.ts';
import { FixedHeatmap } from '../../charts/FixedCharts.tsx';
import { Colours, linesOf } from '../../charts/lines.ts';
import type { PlotMark } from '../../charts/pen.ts';
import { SeriesChart } from '../../charts/SeriesChart.tsx';
import { figureOf } from '../../charts/units.ts';
import { type Fact, Facts } from '../../shells/Facts.tsx';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';
import { compact, digits, duration } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { queryLink } from '../worksheets/sheet.ts';
import {
  type CountedBy,
  conditionOf,
  cumulative,
  limitText,
  type ObjectiveInput,
  populationLine,
  type Report,
} from './objective.ts';

const DAY = 86_400;
const HEIGHT = 220;
const EVERY_MS = 60_000;
/** Of the times in which its speed is measured, those that are told; the shorter ones only end alerts. */
const TOLD = [3600, 21_600, DAY, 3 * DAY];
const WORDS: Readonly<Record<CountedBy, string>> = { period: 'Period', month: 'Month', day: 'Day' };
const LINES: Readonly<Record<string, string>> = { over: 'Beyond the limit', budget: 'Allowed' };
const figure = figureOf('count', false);
const ignore = () => {};
const NO_MARKS: readonly PlotMark[] = [];

function Budget({ report, input }: { report: Report; input: ObjectiveInput }) {
  const [by, setBy] = useState<CountedBy>('period');
  const colours = useRef(new Colours());
  const { targetPercent } = input;
  const frame = useMemo(() => cumulative(report, targetPercent, by), [report, targetPercent, by]);
  const lines = useMemo(() => {
    // The same colours whichever is above.
    for (const key of Object.keys(LINES)) colours.current.of(key);
    const nameOf = ({ line = '' }: Readonly<Record<string, string>>) => ({ key: line, text: LINES[line] ?? line });
    return linesOf(frame, nameOf, colours.current);
  }, [frame]);
  const right = useMemo(() => {
    const values = populationLine(report);
    return values === null ? null : { start: frame.start, step: frame.step, values, text: 'Population, right' };
  }, [report, frame]);
  return (
    <section aria-label="Budget">
      <div className="cistern-spread">
        <h2>How many were beyond the limit</h2>
        <ToggleGroup aria-label="Counted anew each">
          {(['period', 'month', 'day'] as const).map((one) => (
            <ToggleGroupItem key={one} text={WORDS[one]} isSelected={by === one} onChange={() => setBy(one)} />
          ))}
        </ToggleGroup>
      </div>
      <SeriesChart
        title="How many were beyond the limit"
        label={`How many were beyond the limit, counted by ${WORDS[by].toLowerCase()}`}
        {...{ frame, lines, figure, right }}
        query=""
        height={180}
        unit="count"
        stacked={false}
        highlight={[]}
        onHighlight={ignore}
        fixed
        reading={false}
        empty="Nothing was measured in this time."
      />
    </section>
  );
}

function factsOf({ standing, period, before, populationError }: Report, input: ObjectiveInput): readonly Fact[] {
  const of = input.population === '' ? 'of 1,000' : `of 1,000 of ${input.population}`;
  const told = ({ perThousand }: Report['period']) => (perThousand === null ? '–' : digits(perThousand));
  const speeds = TOLD.map((seconds) => {
    const rate = standing.burns.find((one) => one.seconds === seconds)?.rate ?? null;
    return `${rate === null ? '–' : digits(rate)} in ${duration(seconds)}`;
  });
  return [
    [`Beyond the limit, ${of}: this period / the one before`, `${told(period)} / ${told(before)}`],
    ['Beyond the limit: this period / the one before', `${compact(period.over)} / ${compact(before.over)}`],
    ...(populationError === null ? [] : [['The population is not known', populationError] as const]),
    ['How fast the budget is used up (1: it lasts exactly for the period)', speeds.join(', ')],
  ];
}

function Drawn(props: { report: Report; input: ObjectiveInput; onLimit: (limit: number) => void }) {
  const { report, input } = props;
  const make = () => new TimeAxis({ range: input.periodDays * DAY, end: null });
  const [axis] = useState(make);
  useTicking(axis);
  return (
    <AxisContext value={axis}>
      <section aria-label="What was measured">
        <h2 className="cistern-wrap">{input.selector}</h2>
        <FixedHeatmap
          axis={axis}
          title={input.selector}
          selector={input.selector}
          limit={input.limit}
          onLimit={props.onLimit}
          marks={NO_MARKS}
          height={HEIGHT}
        />
      </section>
      <Budget report={report} input={input} />
    </AxisContext>
  );
}

export function ObjectiveReport(props: {
  /** null: something is missing. */
  input: ObjectiveInput | null;
  /** What it is called as it is kept; undefined: it is new. */
  name: string | undefined;
  onLimit: (limit: number) => void;
}) {
  const { name } = props;
  const asked = useDeferredValue(props.input === null ? null : JSON.stringify(props.input));
  const { data: report, error } = useQuery({
    queryKey: ['telemetry', 'objective-preview', asked],
    queryFn: ({ signal }) =>
      answerOf(client.POST('/api/objectives/preview', { body: JSON.parse(asked ?? '{}') as ObjectiveInput, signal })),
    enabled: asked !== null,
    refetchInterval: EVERY_MS,
    placeholderData: keepPreviousData,
    retry: false,
  });
  if (asked === null) return <p className="cistern-quiet">How the past reads by it is shown here.</p>;
  if (error) return <ProblemAlert error={error} />;
  if (report === undefined) return null;
  const input = JSON.parse(asked) as ObjectiveInput;
  const { standing } = report;
  const chart = { id: 'c1', query: input.selector, display: 'heatmap', unit: input.unit, limit: input.limit } as const;
  return (
    <div className="cistern-stack">
      <p className="cistern-sentence" aria-live="polite">
        <ConditionIcon state={conditionOf({ standing, error: null })} /> {standing.sentence}
      </p>
      {standing.within > 0 && (
        <p className="cistern-quiet">
          {limitText(input.limit, input.unit)} divides a bin of the histogram. A limit of two digits, as the line in the
          picture finds it, is counted exactly.
        </p>
      )}
      {standing.approximate && (
        <p className="cistern-quiet">Native histograms are among what is counted: they were converted, bin by bin.</p>
      )}
      {standing.warnings.map((words) => (
        <p key={words}>
          <ConditionIcon state="warning" /> {words}
        </p>
      ))}
      <Drawn key={input.periodDays} {...{ report, input }} onLimit={props.onLimit} />
      <Facts facts={factsOf(report, input)} />
      <p>
        <Link to={queryLink(chart)}>Look closer, and ask Why these?</Link>
        {name !== undefined && (
          <>
            {' '}
            · <Link to={`/alerts/log?search=${encodeURIComponent(name)}`}>Its alerts</Link>
          </>
        )}
      </p>
    </div>
  );
}
