// What changed? The series that are not what they were before a time, the first of each metric with a small chart of both times.
import { Button, FormSelect, FormSelectOption, PageSection, Progress } from '@patternfly/react-core';
import { useMemo } from 'react';
import { Link, useSearchParams } from 'react-router';
import { useMeasure } from '../../api/measure.ts';
import { TimeAxis } from '../../charts/axis.ts';
import { ChangedChart } from '../../charts/FixedCharts.tsx';
import { seriesInFull } from '../../charts/seriesName.ts';
import { PageHead } from '../../shells/PageHead.tsx';
import { duration, plural, quantity } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { AnalyticsTabs } from '../AnalyticsTabs.tsx';
import { Control } from '../explore/LimitField.tsx';
import { writeView } from '../explore/view.ts';
import { type Group, groupsOf, type Labels, queryOf, sharedBy, useChanges } from './changed.ts';

const SHOWN = 10;
const EVERYTHING = '{__name__!=""}';
const SENT = '{__name__!="",__name__!~"cistern_.*"}';
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
/** Shorter is not compared. */
const SHORTEST = 20;
const BEFORE = 4;

function exploreLink(metric: Labels, range: number, end: number): string {
  const { __name__: name = '', ...labels } = metric;
  const filters = Object.entries(labels);
  const view = { metric: name, by: '', filters, range, end, limit: undefined, scale: 'auto', trim: 0 } as const;
  return `/analytics/explore?${writeView(view)}`;
}

function OneGroup({ group, axis, range, end }: { group: Group; axis: TimeAxis; range: number; end: number }) {
  const { first, more } = group;
  const query = queryOf(first);
  const { unit } = useMeasure(query);
  const shown = (value: number) => quantity(value, unit, first.measure === 'rate');
  return (
    <li className="cistern-panel">
      <h2 className="cistern-changedname cistern-wrap">
        <Link to={exploreLink(first.metric, range, end)}>{seriesInFull(first.metric)}</Link>
      </h2>
      <p>
        {first.measure === 'median' ? 'Median ' : ''}
        {shown(first.before)} → {shown(first.after)}
        <span className="cistern-quiet">
          , {first.score >= 1000 ? 'it never moved before' : `${Math.round(first.score)} times what it usually moves`}
          {more > 0 && `; ${plural(more, 'more series', 'more series')} of this metric`}
        </span>
      </p>
      <ChangedChart series={{ labels: first.metric, measure: first.measure, query }} axis={axis} />
    </li>
  );
}

function Some({ words, of }: { words: string; of: { count: number; series: readonly Labels[] } | undefined }) {
  if (of === undefined || of.count === 0) return null;
  return (
    <details className="cistern-marks">
      <summary>
        {plural(of.count, 'series', 'series')} {words}
      </summary>
      <ul>
        {of.series.map((labels) => (
          <li key={seriesInFull(labels)} className="cistern-wrap">
            {seriesInFull(labels)}
          </li>
        ))}
        {of.series.length < of.count && <li>and {(of.count - of.series.length).toLocaleString('en-US')} more</li>}
      </ul>
    </details>
  );
}

export default function ChangedPage() {
  const [params, setParams] = useSearchParams();
  const number = (name: string, otherwise: number) => Number(params.get(name) ?? '') || otherwise;
  const now = useMemo(() => Math.floor(Date.now() / 1000) - 5, []);
  const end = number('end', now);
  const start = Math.min(number('start', end - 300), end - SHORTEST);
  const against = params.get('against') === 'week' ? 'week' : 'before';
  const query = params.get('of') === 'sent' ? SENT : EVERYTHING;
  const { changes, state, error, cancel, again } = useChanges({ query, start, end, against });
  const range = against === 'before' ? (BEFORE + 1) * (end - start) : 2 * (end - start);
  const axis = useMemo(() => new TimeAxis({ range, end }), [range, end]);
  const set = (name: string, value: string) => {
    const next = new URLSearchParams(params);
    next.set('start', String(start));
    next.set('end', String(end));
    next.set(name, value);
    setParams(next);
  };
  const groups = groupsOf(changes?.series ?? []);
  const shared = sharedBy(changes?.series ?? []);
  return (
    <>
      <PageHead
        title="What changed?"
        sentence={`${moment.format(start * 1000)}, ${duration(end - start)}, beside ${against === 'week' ? 'the same hours a week earlier' : `the ${duration(BEFORE * (end - start))} before it`}.`}
      />
      <AnalyticsTabs active="explore" />
      <PageSection>
        <div className="cistern-controls">
          <Control label="Compared with">
            {(id) => (
              <FormSelect id={id} value={against} onChange={(_event, value) => set('against', value)}>
                <FormSelectOption value="before" label="the time before it" />
                <FormSelectOption value="week" label="the same hours a week earlier" />
              </FormSelect>
            )}
          </Control>
          <Control label="Series">
            {(id) => (
              <FormSelect
                id={id}
                value={params.get('of') === 'sent' ? 'sent' : 'all'}
                onChange={(_event, value) => set('of', value)}
              >
                <FormSelectOption value="all" label="all" />
                <FormSelectOption value="sent" label="what is sent here" />
              </FormSelect>
            )}
          </Control>
          {state === 'comparing' ? (
            <Button variant="secondary" onClick={cancel}>
              Cancel
            </Button>
          ) : (
            <Button variant="secondary" onClick={again}>
              Compare again
            </Button>
          )}
        </div>
        <ProblemAlert error={error} retry={again} />
        {state === 'comparing' && (
          <Progress
            aria-label="Series compared"
            value={changes === null || changes.of === 0 ? 0 : (100 * changes.compared) / changes.of}
            title={
              changes === null
                ? 'Looking for series…'
                : `${changes.compared.toLocaleString('en-US')} of ${plural(changes.of, 'series', 'series')} compared`
            }
          />
        )}
        {changes !== null && state !== 'comparing' && (
          <p role="status">
            {state === 'cancelled' && 'Cancelled: '}
            {changes.changed === 0
              ? `Nothing changed among ${plural(changes.compared, 'series', 'series')}.`
              : `${changes.changed.toLocaleString('en-US')} of ${plural(changes.compared, 'series', 'series')} changed; the ${Math.min(SHOWN, groups.length)} metrics that changed most:`}
          </p>
        )}
        {shared.length > 0 && (
          <p>
            They share{' '}
            {shared.slice(0, 4).map(({ label, value, count }, at) => (
              <span key={label + value}>
                {at > 0 && ', '}
                <b>
                  {label} = {value}
                </b>{' '}
                ({count} of {changes?.series.length})
              </span>
            ))}
            .
          </p>
        )}
        <ol className="cistern-changes">
          {groups.slice(0, SHOWN).map((group) => (
            <OneGroup key={group.first.metric.__name__ ?? ''} {...{ group, axis, range, end }} />
          ))}
        </ol>
        <Some words="began in this time" of={changes?.began} />
        <Some words="ended in this time" of={changes?.ended} />
        {changes?.warnings?.map((text) => (
          <p key={text} className="cistern-quiet">
            {text}
          </p>
        ))}
      </PageSection>
    </>
  );
}
