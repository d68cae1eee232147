// The recording rules: what each records, and how its evaluation goes.
import { Button, PageSection, Progress, ProgressMeasureLocation } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { ifMatch } from '../../api/edits.ts';
import { recordingRulesQuery } from '../../api/queries.ts';
import { useMayNot } from '../../api/session.ts';
import { ConfirmByName } from '../../forms/ConfirmByName.tsx';
import { Explained } from '../../forms/Explained.tsx';
import { AddButton, EmptyList, RemoveButton } from '../../forms/ListActions.tsx';
import { type Column, ListTable } from '../../shells/ListTable.tsx';
import { PageHead } from '../../shells/PageHead.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { Ago } from '../../words/Ago.tsx';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';
import { duration, plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { AnalyticsTabs } from '../AnalyticsTabs.tsx';
import { FillDialog } from './FillDialog.tsx';
import { ImportDialog } from './ImportDialog.tsx';
import { fillWords, type RecordingRule, standing } from './rule.ts';

const narrow = { modifier: 'fitContent' } as const;

function sentenceOf(rules: readonly RecordingRule[]): string {
  if (rules.length === 0) return 'Results that are stored as metrics.';
  const failing = rules.filter((rule) => rule.enabled && rule.state !== null && rule.state.error !== null).length;
  return `${plural(rules.length, 'recording rule')}${failing > 0 ? `, of which ${failing} ${failing === 1 ? 'fails' : 'fail'}` : ''}.`;
}

const columns: readonly Column<RecordingRule>[] = [
  {
    title: 'Result',
    head: { width: 45 },
    cell: (rule) => (
      <div>
        {rule.fromFile ? (
          <span className="cistern-name">{rule.name}</span>
        ) : (
          <Link to={`/analytics/recording-rules/${rule.id}`} className="cistern-name">
            {rule.name}
          </Link>
        )}
        <div>
          <code className="cistern-wrap">{rule.expression}</code>
        </div>
        {rule.description !== '' && <div className="cistern-quiet">{rule.description}</div>}
      </div>
    ),
  },
  {
    title: 'Group',
    head: narrow,
    cell: ({ group, fromFile }) => (fromFile ? `${group} (rule file)` : group),
  },
  { title: 'Every', head: narrow, modifier: 'nowrap', cell: ({ intervalSeconds }) => duration(intervalSeconds) },
  {
    title: 'Last evaluation',
    cell: (rule) => {
      const { state, words } = standing(rule);
      return (
        <div>
          {state !== 'off' && <ConditionIcon state={state} />} {words}
          {rule.state?.evaluatedAt && rule.enabled && (
            <div className="cistern-quiet">
              <Ago time={rule.state.evaluatedAt} />
              {rule.state.missed > 0 && `, ${rule.state.missed} missed`}
            </div>
          )}
          {rule.fill?.state === 'running' ? (
            <Progress
              value={rule.fill.percent}
              title={fillWords(rule) ?? ''}
              size="sm"
              measureLocation={ProgressMeasureLocation.none}
              aria-label={`Filling the past of ${rule.name}`}
            />
          ) : (
            rule.fill && <div className="cistern-quiet">{fillWords(rule)}</div>
          )}
        </div>
      );
    },
  },
];

export default function RecordingRulesPage() {
  const { data, error, refetch } = useQuery(recordingRulesQuery);
  const queries = useQueryClient();
  const mayNot = useMayNot('operator');
  const [removing, setRemoving] = useState<RecordingRule | null>(null);
  const [filling, setFilling] = useState<RecordingRule | null>(null);
  const [importing, setImporting] = useState(false);
  const known = () => queries.invalidateQueries({ queryKey: ['recording-rules'] });
  const cancel = useMutation({
    mutationFn: (id: string) =>
      answerOf(client.POST('/api/recording-rules/{id}/cancel-fill', { params: { path: { id } } })),
    onSettled: known,
  });
  const add = (
    <div className="cistern-rowactions">
      <AddButton to="/analytics/recording-rules/new" why={mayNot}>
        New recording rule
      </AddButton>
      <Explained why={mayNot}>
        <Button variant="secondary" isAriaDisabled={mayNot !== null} onClick={() => setImporting(true)}>
          Import a rule file
        </Button>
      </Explained>
    </div>
  );
  const actions: Column<RecordingRule> = {
    title: 'Actions',
    control: 'buttons',
    cell: (rule) => {
      const active = rule.fill?.state === 'running' || rule.fill?.state === 'waiting';
      return (
        <span className="cistern-rowactions">
          <Link to={`/analytics/explore?metric=${encodeURIComponent(rule.name)}`} aria-label={`Show ${rule.name}`}>
            Show
          </Link>
          <Explained why={mayNot}>
            <Button
              variant="link"
              isInline
              isAriaDisabled={mayNot !== null}
              aria-label={active ? `Cancel filling the past of ${rule.name}` : `Fill the past of ${rule.name}`}
              onClick={() => (active ? cancel.mutate(rule.id) : setFilling(rule))}
            >
              {active ? 'Cancel' : 'Fill the past'}
            </Button>
          </Explained>
          {!rule.fromFile && (
            <RemoveButton what={`the rule ${rule.name}`} why={mayNot} onRemove={() => setRemoving(rule)} />
          )}
        </span>
      );
    },
  };
  return (
    <>
      <PageHead title="Analytics" sentence={data && sentenceOf(data)} />
      <AnalyticsTabs active="recording-rules" />
      <PageSection>
        <ProblemAlert error={cancel.error} />
        {data === undefined ? (
          <Waiting on={{ error, refetch }} />
        ) : data.length === 0 ? (
          <EmptyList title="There is no recording rule yet" add={add}>
            A recording rule evaluates an expression again and again, and stores the result as a metric: what is asked
            often, or of many series, is then there already.
          </EmptyList>
        ) : (
          <div className="cistern-stack">
            {add}
            <ListTable
              label="Recording rules"
              cardsBelow="grid-lg"
              columns={[...columns, actions]}
              rows={data}
              keyOf={({ id }) => id}
            />
          </div>
        )}
      </PageSection>
      {importing && <ImportDialog onClose={() => setImporting(false)} onDone={known} />}
      {filling && <FillDialog rule={filling} onClose={() => setFilling(null)} onDone={known} />}
      {removing && (
        <ConfirmByName
          title="Remove this recording rule?"
          name={removing.name}
          action="Remove the rule"
          onClose={() => setRemoving(null)}
          onConfirm={async () => {
            const params = { path: { id: removing.id }, header: ifMatch(removing) };
            await answerOf(client.DELETE('/api/recording-rules/{id}', { params }));
            await known();
          }}
        >
          <p>
            Nothing more is recorded. What was recorded stays, and can be asked for until its retention ends; senders
            may use the name again.
          </p>
        </ConfirmByName>
      )}
    </>
  );
}
