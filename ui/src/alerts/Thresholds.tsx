// The rules, each as the sentence it is.
import { Button, EmptyState, EmptyStateActions, EmptyStateBody, EmptyStateFooter } from '@patternfly/react-core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useNavigate } from 'react-router';
import { answerOf, client } from '../api/client.ts';
import { thresholdsQuery } from '../api/queries.ts';
import { ConfirmByName } from '../forms/ConfirmByName.tsx';
import { Explained } from '../forms/Explained.tsx';
import { PageLoading } from '../frame/PageLoading.tsx';
import { useMayNot } from '../frame/session.ts';
import { Ago } from '../words/Ago.tsx';
import { ProblemAlert } from '../words/ProblemAlert.tsx';
import { ConditionIcon } from '../words/Sentence.tsx';
import { ruleSentence, standing, type Threshold } from './words.ts';

export function Thresholds() {
  const { data, error, refetch } = useQuery(thresholdsQuery);
  const queries = useQueryClient();
  const mayNot = useMayNot('operator');
  const navigate = useNavigate();
  const [removing, setRemoving] = useState<Threshold | null>(null);
  if (data === undefined) return error ? <ProblemAlert error={error} retry={() => void refetch()} /> : <PageLoading />;
  const add = (
    <Explained why={mayNot}>
      <Button isAriaDisabled={mayNot !== null} onClick={() => void navigate('/alerts/thresholds/new')}>
        New rule
      </Button>
    </Explained>
  );
  if (data.length === 0) {
    return (
      <EmptyState headingLevel="h2" titleText="There is no rule yet">
        <EmptyStateBody>
          A rule watches any metric, and raises an alert when it stays beyond a limit for long enough.
        </EmptyStateBody>
        <EmptyStateFooter>
          <EmptyStateActions>{add}</EmptyStateActions>
        </EmptyStateFooter>
      </EmptyState>
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
                <Explained why={mayNot}>
                  <Button
                    variant="link"
                    isDanger
                    isInline
                    isAriaDisabled={mayNot !== null}
                    aria-label={`Remove the rule ${rule.name}`}
                    onClick={() => setRemoving(rule)}
                  >
                    Remove
                  </Button>
                </Explained>
              </div>
              <p>{ruleSentence(rule)}</p>
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
            await answerOf(client.DELETE('/api/thresholds/{id}', { params: { path: { id: removing.id } } }));
            await queries.invalidateQueries({ queryKey: ['thresholds'] });
          }}
        >
          <p>It stops watching, and its active alerts are cleared. The log of past alerts stays.</p>
        </ConfirmByName>
      )}
    </div>
  );
}
