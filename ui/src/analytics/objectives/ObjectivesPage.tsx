// The objectives: what was promised, and how it stands.
import { PageSection, Progress, ProgressMeasureLocation } from '@patternfly/react-core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { ifMatch } from '../../api/edits.ts';
import { objectivesQuery } from '../../api/queries.ts';
import { useMayNot } from '../../api/session.ts';
import { ConfirmByName } from '../../forms/ConfirmByName.tsx';
import { AddButton, EmptyList, RemoveButton } from '../../forms/ListActions.tsx';
import { type Column, ListTable } from '../../shells/ListTable.tsx';
import { PageHead } from '../../shells/PageHead.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { Ago } from '../../words/Ago.tsx';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';
import { percent, plural } from '../../words/format.ts';
import { AnalyticsTabs } from '../AnalyticsTabs.tsx';
import { conditionOf, type Objective, usedOf } from './objective.ts';

function sentenceOf(objectives: readonly Objective[]): string {
  if (objectives.length === 0) return 'How much of what is measured has to be under a limit.';
  const missed = objectives.filter(({ standing }) => (standing?.overBudget ?? 0) > 0).length;
  return `${plural(objectives.length, 'objective')}${missed > 0 ? `, ${missed} over budget` : ''}.`;
}

function Budget({ name, standing }: Pick<Objective, 'name' | 'standing'>) {
  const used = standing === null ? null : usedOf(standing);
  if (used === null) return <span className="cistern-quiet">Nothing was measured</span>;
  return (
    <Progress
      value={Math.min(100, used * 100)}
      size="sm"
      {...(used > 1 && { variant: 'danger' as const })}
      measureLocation={ProgressMeasureLocation.outside}
      label={percent(used, 0)}
      valueText={percent(used, 0)}
      aria-label={`Budget of ${name} that is used up`}
    />
  );
}

const columns: readonly Column<Objective>[] = [
  {
    title: 'Objective',
    head: { width: 30 },
    cell: ({ id, name, selector }) => (
      <div>
        <Link to={`/analytics/objectives/${id}`} className="cistern-name">
          {name}
        </Link>
        <div>
          <code className="cistern-wrap">{selector}</code>
        </div>
      </div>
    ),
  },
  {
    title: 'How it stands',
    cell: (one) => (
      <div>
        <ConditionIcon state={conditionOf(one)} /> {one.standing?.sentence ?? 'It was not measured yet.'}
        {one.error !== null && <div className="cistern-bad">It could not be measured again: {one.error}</div>}
        {one.standing !== null && (
          <div className="cistern-quiet">
            measured <Ago time={one.standing.measuredAt} />
          </div>
        )}
      </div>
    ),
  },
  { title: 'Budget used', head: { width: 20 }, cell: (one) => <Budget {...one} /> },
];

export default function ObjectivesPage() {
  const { data, error, refetch } = useQuery(objectivesQuery);
  const queries = useQueryClient();
  const mayNot = useMayNot('operator');
  const [removing, setRemoving] = useState<Objective | null>(null);
  const add = (
    <AddButton to="/analytics/objectives/new" why={mayNot}>
      New objective
    </AddButton>
  );
  const actions: Column<Objective> = {
    title: 'Actions',
    control: 'buttons',
    cell: (one) => <RemoveButton what={`the objective ${one.name}`} why={mayNot} onRemove={() => setRemoving(one)} />,
  };
  return (
    <>
      <PageHead title="Analytics" sentence={data && sentenceOf(data)} />
      <AnalyticsTabs active="objectives" />
      <PageSection>
        {data === undefined ? (
          <Waiting on={{ error, refetch }} />
        ) : data.length === 0 ? (
          <EmptyList title="There is no objective yet" add={add}>
            An objective is a sentence: 99 % under 300 ms in 28 days. It is counted in the histograms that are stored
            already, so it tells the past from the first moment on, and raises an alert when its budget is used up too
            fast.
          </EmptyList>
        ) : (
          <div className="cistern-stack">
            <div>{add}</div>
            <ListTable
              label="Objectives"
              cardsBelow="grid-lg"
              columns={[...columns, actions]}
              rows={data}
              keyOf={({ id }) => id}
            />
          </div>
        )}
      </PageSection>
      {removing && (
        <ConfirmByName
          title="Remove this objective?"
          name={removing.name}
          action="Remove the objective"
          onClose={() => setRemoving(null)}
          onConfirm={async () => {
            const params = { path: { id: removing.id }, header: ifMatch(removing) };
            await answerOf(client.DELETE('/api/objectives/{id}', { params }));
            await queries.invalidateQueries({ queryKey: ['objectives'] });
          }}
        >
          <p>Nothing that was measured is removed: the same objective can be set again, and tells the same past.</p>
        </ConfirmByName>
      )}
    </>
  );
}
