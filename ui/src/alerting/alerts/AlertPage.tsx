// One alert: where the link of a mail or a message leads.
import { EmptyState, EmptyStateBody, PageSection } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { asProblem } from '../../api/problem.ts';
import { alertQuery } from '../../api/queries.ts';
import { PageShell } from '../../shells/PageShell.tsx';
import { PageLoading } from '../../shells/Waiting.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { Acknowledge, SilenceLink } from './Acknowledge.tsx';
import { AlertDetails } from './AlertDetails.tsx';
import { AlertLabels } from './AlertList.tsx';

export function AlertPage({ id }: { id: string }) {
  const { data: alert, error, refetch } = useQuery(alertQuery(id));
  if (alert === undefined) {
    if (!error) return <PageLoading />;
    return (
      <PageSection>
        {asProblem(error).code === 'not_found' ? (
          <EmptyState headingLevel="h1" titleText="This alert is not in the log">
            <EmptyStateBody>
              Alerts are kept for 400 days; that of a test message never is. <Link to="/alerts/log">See the log</Link>.
            </EmptyStateBody>
          </EmptyState>
        ) : (
          <ProblemAlert error={error} retry={() => void refetch()} />
        )}
      </PageSection>
    );
  }
  const active = alert.state === 'active';
  return (
    <PageShell
      title={alert.title}
      state={active ? alert.severity : 'ok'}
      sentence={alert.text}
      way={[[active ? 'Active alerts' : 'Alert log', active ? '/alerts' : '/alerts/log']]}
    >
      <div className="cistern-stack">
        <p>
          <AlertLabels alert={alert} />
        </p>
        {active && (
          <div className="cistern-row-actions">
            <Acknowledge alert={alert} />
            <SilenceLink alert={alert} />
          </div>
        )}
        <AlertDetails alert={alert} />
      </div>
    </PageShell>
  );
}
