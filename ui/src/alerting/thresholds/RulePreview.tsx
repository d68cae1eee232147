// The past hour of what is watched with the limit in it, what the rule would say now, and when it would have fired.
import { FormSelect, FormSelectOption } from '@patternfly/react-core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useDeferredValue, useMemo, useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import type { Measure } from '../../api/telemetry.ts';
import type { Named } from '../../charts/lines.ts';
import { SmallChart, SmallMultiples } from '../../charts/SmallMultiples.tsx';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';
import { ExpressionFault } from '../../words/ExpressionFault.tsx';
import { duration, parseQuantity, plural, quantity } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { wordsAmong } from '../alerts/words.ts';
import { bandOf, type Draft, watchedOf } from './rule.ts';

type Preview = Schemas['ThresholdPreview'];

const ranges: readonly [number, string][] = [
  [3600, 'the past hour'],
  [6 * 3600, 'the past 6 hours'],
  [86_400, 'the past day'],
  [7 * 86_400, 'the past week'],
];
const written = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

function Past({ past, unit, perSecond }: { past: NonNullable<Preview['past']> } & Measure) {
  if (past.series === 0) return <p>Nothing was measured in that time.</p>;
  const total = past.firings.length + past.leftOut;
  const words = wordsAmong(past.firings);
  return (
    <>
      <p>
        {total === 0
          ? 'It would never have fired.'
          : `It would have fired ${plural(total, 'time')}, and sent ${plural(
              past.firings.reduce((sum, one) => sum + one.messages, 0),
              'message',
            )}${past.leftOut > 0 ? ' or more' : ''} to each destination.`}{' '}
        <span className="cistern-quiet">Looked at every {duration(past.stepSeconds)}.</span>
      </p>
      <ol className="cistern-timeline" aria-label="When it would have fired">
        {past.firings.slice(0, 20).map((one) => (
          <li key={`${one.kind}${one.raisedAt}${words(one.labels)}`}>
            {written.format(Date.parse(one.raisedAt))}
            {one.clearedAt
              ? `, for ${duration((Date.parse(one.clearedAt) - Date.parse(one.raisedAt)) / 1000)}`
              : ', and still'}
            {one.kind === 'no_data' ? ': no data' : one.worst !== null && `: ${quantity(one.worst, unit, perSecond)}`}
            {words(one.labels) && <span className="cistern-quiet"> {words(one.labels)}</span>}
          </li>
        ))}
      </ol>
      {total > 20 && <p className="cistern-quiet">And {plural(total - 20, 'earlier one')}.</p>}
    </>
  );
}

/** @param measure of what is watched: limits are typed in it */
export function RulePreview({ draft, measure }: { draft: Draft; measure: Measure }) {
  const [range, setRange] = useState(86_400);
  const watched = useDeferredValue(JSON.stringify(watchedOf(draft)));
  const what = JSON.parse(watched) as ReturnType<typeof watchedOf>;
  const { unit, perSecond } = measure;
  const limit = parseQuantity(draft.raise, unit);
  const { direction, raiseForSeconds, clearForSeconds, repostSeconds, noDataSeconds, hours } = draft;
  const band = bandOf(draft, unit);
  const ends = typeof band === 'string' ? { raiseBelow: 0 } : band;
  const limits = { direction, raise: limit ?? 0, clear: parseQuantity(draft.clear, unit) ?? limit ?? 0, ...ends };
  const complete = limit !== undefined && typeof band !== 'string';
  const ask = (body: Schemas['ThresholdPreviewInput'], signal: AbortSignal) =>
    answerOf(client.POST('/api/thresholds/preview', { body, signal }));
  const now = useQuery({
    queryKey: ['telemetry', 'preview', watched, limits],
    queryFn: ({ signal }) => ask({ ...(what ?? { expression: '-' }), ...limits }, signal),
    enabled: what !== null,
    refetchInterval: 5_000,
    retry: false,
  });
  const rule = { ...limits, raiseForSeconds, clearForSeconds, repostSeconds, noDataSeconds, hours };
  const past = useQuery({
    queryKey: ['telemetry', 'past', watched, rule, range],
    queryFn: ({ signal }) => ask({ ...(what ?? { expression: '-' }), ...rule, rangeSeconds: range }, signal),
    enabled: what !== null && complete && now.data?.error === null,
    staleTime: 30_000,
    placeholderData: keepPreviousData,
    retry: false,
  });
  const expression = what === null ? '' : (now.data?.expression ?? '');
  const seen = now.data?.series;
  const nameOf = useMemo(() => {
    const words = wordsAmong(seen ?? []);
    return (labels: Readonly<Record<string, string>>): Named => {
      const text = words(labels) || 'value';
      return { key: text, text };
    };
  }, [seen]);
  const valid = expression !== '' && now.data?.error === null;
  if (what === null) return <p className="cistern-quiet">The past hour of what is watched is drawn here.</p>;
  if (now.error && now.data === undefined) return <ProblemAlert error={now.error} />;
  if (now.data?.error) {
    return <ExpressionFault expression={now.data.expression} error={now.data.error} at={now.data.errorAt} />;
  }
  const warnings = !complete ? [] : (now.data?.warnings ?? []);
  const count = now.data?.series.length ?? 0;
  return (
    <>
      {draft.what !== 'expression' && expression !== '' && (
        <p>
          In PromQL: <code className="cistern-wrap">{expression}</code>
        </p>
      )}
      <SmallMultiples range={3600} whole>
        <SmallChart
          title={`The past hour of ${what.expression}`}
          query={valid ? expression : ''}
          {...{ perSecond, nameOf, limit }}
          {...(complete && 'raiseBelow' in ends && { lowerLimit: ends.raiseBelow })}
          unit={unit}
          height={220}
          points={360}
        />
      </SmallMultiples>
      <div aria-live="polite">
        {warnings.map((words) => (
          <p key={words}>
            <ConditionIcon state="warning" /> {words}
          </p>
        ))}
        {complete && warnings.length === 0 && count > 0 && (
          <p>Right now {count === 1 ? 'it is' : `all ${count} series are`} within the limit.</p>
        )}
      </div>
      {complete && (
        <>
          <div className="cistern-fromto">
            <span>Over</span>
            <FormSelect
              aria-label="Try it over"
              value={range}
              onChange={(_event, value) => setRange(Number(value))}
              className="cistern-inline"
            >
              {ranges.map(([seconds, words]) => (
                <FormSelectOption key={seconds} value={seconds} label={words} />
              ))}
            </FormSelect>
          </div>
          {past.error && <ProblemAlert error={past.error} stale={past.data !== undefined} />}
          {past.data?.past && <Past past={past.data.past} unit={unit} perSecond={perSecond} />}
        </>
      )}
    </>
  );
}
