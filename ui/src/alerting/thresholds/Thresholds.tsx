// The rules, each as the sentence it is.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { ifMatch } from '../../api/edits.ts';
import { thresholdsQuery } from '../../api/queries.ts';
import { useMayNot } from '../../api/session.ts';
import { ConfirmByName } from '../../forms/ConfirmByName.tsx';
import { AddButton, EmptyList, RemoveButton } from '../../forms/ListActions.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { Ago } from '../../words/Ago.tsx';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';
import { ruleSentence, standing, type Threshold } from '../alerts/words.ts';

export function Thresholds() {
  const { data, error, refetch } = useQuery(thresholdsQuery);
  const queries = useQueryClient();
  const mayNot = useMayNot('operator');
  const [removing, setRemoving] = useState<Threshold | null>(null);
  if (data === undefined) return <Waiting on={{ error, refetch }} />;
  const add = (
    <AddButton to="/alerts/thresholds/new" why={mayNot}>
      New rule
    </AddButton>
  );
  if (data.length === 0) {
    return (
      <EmptyList title="There is no rule yet" add={add}>
        A rule watches any metric, and raises an alert when it stays beyond a limit for long enough.
      </EmptyList>
    );
  }
  return (
    <div className="cistern-stack">
      <div>{add}</div>
      <ul className="cistern-alerts" aria-label="Threshold rules">
        {data.map((rule) => {
          const { state, words } = standing(rule);
          return (
            <li key={rule.id} className="cistern-alert">
              <div className="cistern-spread">
                <div>
                  {state !== 'off' && <ConditionIcon state={state} />}{' '}
                  <Link to={`/alerts/thresholds/${rule.id}`}>{rule.name}</Link>
                </div>
                <RemoveButton what={`the rule ${rule.name}`} why={mayNot} onRemove={() => setRemoving(rule)} />
              </div>
              <p>{ruleSentence(rule, rule.state.unit)}</p>
              <p className="cistern-quiet">
                {words}
                {rule.state.evaluatedAt && (
                  <>
                    , looked at <Ago time={rule.state.evaluatedAt} />
                  </>
                )}
              </p>
            </li>
          );
        })}
      </ul>
      {removing && (
        <ConfirmByName
          title="Remove this rule?"
          name={removing.name}
          action="Remove the rule"
          onClose={() => setRemoving(null)}
          onConfirm={async () => {
            const params = { path: { id: removing.id }, header: ifMatch(removing) };
            await answerOf(client.DELETE('/api/thresholds/{id}', { params }));
            await queries.invalidateQueries({ queryKey: ['thresholds'] });
          }}
        >
          <p>It stops watching, and its active alerts are cleared. The log of past alerts stays.</p>
        </ConfirmByName>
      )}
    </div>
  );
}
