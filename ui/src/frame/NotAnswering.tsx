// Shown when the page has loaded and no part of the appliance answers.
import { Bullseye, EmptyState, EmptyStateBody, Spinner } from '@patternfly/react-core';
import ExclamationTriangleIcon from '@patternfly/react-icons/dist/esm/icons/exclamation-triangle-icon';
import { asProblem } from '../api/problem.ts';

export function NotAnswering({ error }: { error: unknown }) {
  const problem = asProblem(error);
  const unreachable = problem.code === 'unreachable';
  return (
    <Bullseye>
      <main>
        <EmptyState
          status="warning"
          icon={ExclamationTriangleIcon}
          headingLevel="h1"
          titleText={unreachable ? 'The appliance does not answer' : 'Management is down'}
        >
          <EmptyStateBody>
            {unreachable
              ? 'Check the network between this browser and the appliance.'
              : 'Measurements are still being taken in and stored; nothing can be shown or changed until management is back.'}{' '}
            <span className="cistern-quiet">{problem.detail}</span>
            {!unreachable && (
              <p>
                If it stays down, <a href="/support/">make a support bundle</a>: that works without it.
              </p>
            )}
            <p>
              <Spinner size="sm" aria-label="Trying again" /> Trying again automatically.
            </p>
          </EmptyStateBody>
        </EmptyState>
      </main>
    </Bullseye>
  );
}
