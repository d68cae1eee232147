// One alert: where the link of a mail or a message leads.
import { EmptyState, EmptyStateBody, PageSection } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { hostOf, hostPath } from '../../analytics/hosts/words.ts';
import type { Schemas } from '../../api/client.ts';
import { asProblem } from '../../api/problem.ts';
import { alertQuery, findingsQuery } from '../../api/queries.ts';
import { PageShell } from '../../shells/PageShell.tsx';
import { PageLoading } from '../../shells/Waiting.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { Acknowledge, SilenceLink } from './Acknowledge.tsx';
import { AlertChart, useAlertAxis } from './AlertChart.tsx';
import { AlertDetails } from './AlertDetails.tsx';
import { AlertLabels } from './AlertList.tsx';
import { Findings } from './Findings.tsx';
import type { Alert } from './words.ts';

/** So much before the raise is seen where no chart says otherwise. */
const LEAD = 3_600;

/** The chart, what is known of the alert, and what was found around it. */
function Investigation({ alert, found }: { alert: Alert; found: Schemas['AlertFindings'] }) {
  const { chart } = found;
  const axis = useAlertAxis(chart?.from ?? Date.parse(alert.raisedAt) / 1000 - LEAD, chart?.to ?? null);
  return (
    <>
      {chart ? (
        <AlertChart {...{ alert, chart, axis }} />
      ) : (
        <p className="cistern-quiet">Nothing is measured that would show this alert.</p>
      )}
      <AlertDetails alert={alert} />
      <Findings {...{ found, axis }} />
    </>
  );
}

/** The page of the host that an alert is about, at the time at which it was raised. */
function HostLink({ alert: { labels, raisedAt } }: { alert: Alert }) {
  const host = hostOf(labels);
  if (host === undefined) return null;
  const raised = Date.parse(raisedAt) / 1000;
  const around = { range: '3600', end: String(Math.round(Math.min(raised + 1800, Date.now() / 1000))) };
  return <Link to={`${hostPath(host)}?${new URLSearchParams(around)}`}>The host {host} at that time</Link>;
}

export function AlertPage({ id }: { id: string }) {
  const { data: alert, error, refetch } = useQuery(alertQuery(id));
  const found = useQuery(findingsQuery(id));
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
          <AlertLabels alert={alert} /> <HostLink alert={alert} />
        </p>
        {active && (
          <div className="cistern-row-actions">
            <Acknowledge alert={alert} />
            <SilenceLink alert={alert} />
          </div>
        )}
        {found.data ? (
          <Investigation key={id} alert={alert} found={found.data} />
        ) : (
          <>
            {found.error ? <ProblemAlert error={found.error} retry={() => void found.refetch()} /> : <PageLoading />}
            <AlertDetails alert={alert} />
          </>
        )}
      </div>
    </PageShell>
  );
}
