// Why these? Which labels tell what lies in a box on a heatmap from what lies around it, with both counts of each value.
import { Button, Title } from '@patternfly/react-core';
import TimesIcon from '@patternfly/react-icons/dist/esm/icons/times-icon';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo } from 'react';
import { type WhyLabel, why } from '../../api/telemetry.ts';
import { useAxis, useSettled } from '../../charts/axis.ts';
import { type Box, boxInWords } from '../../charts/box.ts';
import type { Figure } from '../../charts/units.ts';
import { compact, percent, plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { shown } from '../statistics/statistic.ts';

/** Of a label so many values are shown. */
const VALUES = 4;

/** What a click on a value of a label does; null: the chart cannot be filtered by it. */
export type FilterBy = (label: string) => ((value: string) => void) | null;

const named = (value: string) => (value === '' ? '(none)' : shown(value));
const share = (count: number, of: number) => (of === 0 ? 0 : count / of);

function Bar({ of, share: part, count, kind }: { of: string; share: number; count: number; kind: 'in' | 'out' }) {
  return (
    <span className="cistern-whybar" data-kind={kind}>
      <i style={{ width: `${Math.max(part * 100, part > 0 ? 1 : 0)}%` }} />
      <b>
        {percent(part, part < 0.1 ? 1 : 0)} {of}
      </b>{' '}
      {compact(Math.round(count))}
    </span>
  );
}

function OneLabel(props: { label: WhyLabel; inside: number; outside: number; filter: FilterBy }) {
  const { label, inside, outside } = props;
  const filter = props.filter(label.label);
  const drawn = label.values.slice(0, VALUES);
  return (
    <li>
      <Title headingLevel="h4" size="md">
        {label.label}
        {label.score === 0 && <span className="cistern-quiet"> no certain difference</span>}
      </Title>
      <ul>
        {drawn.map(({ value, ...counts }) => (
          <li key={value} className="cistern-whyvalue">
            {filter === null ? (
              <span className="cistern-name">{named(value)}</span>
            ) : (
              <Button
                variant="link"
                isInline
                className="cistern-name"
                aria-label={`Show only ${label.label} = ${named(value)}`}
                onClick={() => filter(value)}
              >
                {named(value)}
              </Button>
            )}
            <Bar of="inside" share={share(counts.inside, inside)} count={counts.inside} kind="in" />
            <Bar of="outside" share={share(counts.outside, outside)} count={counts.outside} kind="out" />
          </li>
        ))}
      </ul>
      {drawn.length < label.of && (
        <p className="cistern-quiet">
          {drawn.length} of {label.of.toLocaleString('en-US')} values
        </p>
      )}
    </li>
  );
}

export function WhyThese(props: {
  selector: string;
  box: Box;
  figure: Figure;
  filter: FilterBy;
  close: () => void;
  /** What else may be asked: of what was not recorded. */
  children?: ReactNode;
}) {
  const { selector, box, figure, filter, close } = props;
  const axis = useAxis();
  const settled = useSettled(axis);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what lies around it is what was seen when it was drawn, or has settled since
  const around = useMemo(() => {
    const { start, end } = axis.span;
    return { from: Math.min(Math.floor(start), box.start), until: Math.max(Math.ceil(end), box.end) };
  }, [axis, settled, box.start, box.end, box.above, box.below]);
  const { data, error, refetch } = useQuery({
    queryKey: ['telemetry', 'why', selector, box, around],
    queryFn: ({ signal }) => why({ query: selector, ...box, ...around }, signal),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  return (
    <section className="cistern-why" aria-label="Why these?">
      <header>
        <Title headingLevel="h3" size="lg">
          Why these?
        </Title>
        <span className="cistern-grow" />
        <Button variant="plain" aria-label="Close “Why these?”" icon={<TimesIcon />} onClick={close} />
      </header>
      <p className="cistern-quiet">
        {boxInWords(box, figure)}
        {data &&
          `: ${compact(Math.round(data.inside))} inside, ${compact(Math.round(data.outside))} outside, of ${plural(data.series, 'series', 'series')}`}
      </p>
      <ProblemAlert error={error} retry={() => void refetch()} />
      {data === undefined && !error && <p role="status">Counting…</p>}
      {data && (
        <>
          {data.inside === 0 ? (
            <p>Nothing was measured inside of the box. Draw it around what is dark.</p>
          ) : data.labels.length === 0 ? (
            <p>
              {data.series === 1
                ? 'It is one series: there is nothing by which it could be told apart.'
                : 'All series have the same labels.'}
            </p>
          ) : (
            <ol>
              {data.labels.map((label) => (
                <OneLabel key={label.label} {...{ label, filter }} inside={data.inside} outside={data.outside} />
              ))}
            </ol>
          )}
          {data.labels.length > 0 && (
            <p className="cistern-quiet">
              {data.labels.length} of {plural(data.of, 'label')}
              {data.approximate && '; counts are approximate: the histograms were sent with other buckets'}
            </p>
          )}
          {data.warnings?.map((text) => (
            <p key={text} className="cistern-quiet">
              {text}
            </p>
          ))}
        </>
      )}
      {props.children}
    </section>
  );
}
