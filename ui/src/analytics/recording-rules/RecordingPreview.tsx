// What a rule would record: drawn over the past hour, and what it gives now; or what is wrong with it, and where.
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useDeferredValue } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import type { Named } from '../../charts/lines.ts';
import { SmallChart, SmallMultiples } from '../../charts/SmallMultiples.tsx';
import { seriesName } from '../../charts/seriesName.ts';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';
import { ExpressionFault } from '../../words/ExpressionFault.tsx';
import { compact, digits, plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { type Draft, inputOf, isMissing } from './rule.ts';

const SHOWN = 10;

const nameOf = (labels: Readonly<Record<string, string>>): Named => {
  const text = seriesName(labels, 'value');
  return { key: text, text };
};

function Now({ total, series }: Pick<Schemas['RecordingRulePreview'], 'total' | 'series'>) {
  return (
    <>
      <p>It would record {plural(total, 'series', 'series')} now.</p>
      <ul className="cistern-serieslist" aria-label="What it would record now">
        {series.slice(0, SHOWN).map(({ labels, value, histogram }) => (
          <li key={JSON.stringify(labels)}>
            {seriesName(labels, labels.__name__ ?? '')}:{' '}
            {histogram !== null
              ? `a histogram of ${plural(histogram.count === null ? 0 : Math.round(histogram.count), 'measurement')}`
              : value === null
                ? 'no number'
                : digits(value)}
          </li>
        ))}
        {total > SHOWN && <li className="cistern-quiet">and {compact(total - SHOWN)} more</li>}
      </ul>
    </>
  );
}

export function RecordingPreview({
  draft,
  id,
  mayNot,
}: {
  draft: Draft;
  id: string | undefined;
  mayNot: string | null;
}) {
  // The expression is worth looking at before the result has a name.
  const input = inputOf({ ...draft, name: draft.name.trim() || 'result' });
  const asked = useDeferredValue(isMissing(input) ? null : JSON.stringify(input));
  const { data, error } = useQuery({
    queryKey: ['telemetry', 'recording-preview', asked, id],
    queryFn: ({ signal }) =>
      answerOf(
        client.POST('/api/recording-rules/preview', {
          body: { ...(JSON.parse(asked ?? '{}') as Schemas['RecordingRuleInput']), ...(id !== undefined && { id }) },
          signal,
        }),
      ),
    enabled: asked !== null && mayNot === null,
    refetchInterval: 10_000,
    placeholderData: keepPreviousData,
    retry: false,
  });
  if (mayNot !== null) return null;
  if (asked === null) return <p className="cistern-quiet">The past hour of the result is drawn here.</p>;
  if (error && data === undefined) return <ProblemAlert error={error} />;
  if (data === undefined) return null;
  const expression = (JSON.parse(asked) as Schemas['RecordingRuleInput']).expression;
  const fault = data.faults[0];
  if (fault !== undefined && fault.field === 'expression') {
    return <ExpressionFault expression={expression} error={fault.message} at={fault.at} />;
  }
  const histograms = data.series.some(({ histogram }) => histogram !== null);
  return (
    <>
      <SmallMultiples range={3600} whole>
        <SmallChart
          title={`The past hour of ${expression}`}
          // Of histograms a line is drawn for how many measurements there were.
          query={histograms ? `histogram_count(${expression})` : expression}
          perSecond={false}
          nameOf={nameOf}
          unit="count"
          height={220}
          points={360}
        />
      </SmallMultiples>
      <div aria-live="polite">
        {fault !== undefined && draft.name.trim() !== '' && (
          <p className="cistern-bad">
            The {fault.field} {fault.message}
          </p>
        )}
        {data.warnings.map((words) => (
          <p key={words}>
            <ConditionIcon state="warning" /> {words}
          </p>
        ))}
      </div>
      {fault === undefined && data.total > 0 && <Now total={data.total} series={data.series} />}
    </>
  );
}
