// The parts of Alerts: active alerts, the log, rules, silences, the catalogue and destinations.
import { EmptyState, EmptyStateBody } from '@patternfly/react-core';
import CheckCircleIcon from '@patternfly/react-icons/dist/esm/icons/check-circle-icon';
import { useQuery } from '@tanstack/react-query';
import { Link, Navigate, useParams } from 'react-router';
import { activeAlertsQuery } from '../../api/queries.ts';
import NoSuchPage from '../../shells/NoSuchPage.tsx';
import { PageShell } from '../../shells/PageShell.tsx';
import { type Part, PartTabs } from '../../shells/PartTabs.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { plural } from '../../words/format.ts';
import { Catalogue } from '../catalogue/Catalogue.tsx';
import { Destinations } from '../destinations/Destinations.tsx';
import { Silences } from '../silences/Silences.tsx';
import { Thresholds } from '../thresholds/Thresholds.tsx';
import { AlertList } from './AlertList.tsx';
import { AlertLog } from './AlertLog.tsx';
import { AlertPage } from './AlertPage.tsx';
import type { Alert } from './words.ts';

const tabs = [
  ['active', 'Active'],
  ['log', 'Log'],
  ['thresholds', 'Threshold rules'],
  ['silences', 'Silences'],
  ['catalogue', 'Catalogue'],
  ['destinations', 'Destinations'],
] as const;

function Active() {
  const { data, error, refetch } = useQuery(activeAlertsQuery);
  if (data === undefined) return <Waiting on={{ error, refetch }} />;
  if (data.length === 0) {
    return (
      <EmptyState status="success" icon={CheckCircleIcon} headingLevel="h2" titleText="Nothing is wrong">
        <EmptyStateBody>
          Pools, services and every threshold rule are watched. <Link to="/alerts/thresholds/new">Add a rule</Link> for
          what matters to you.
        </EmptyStateBody>
      </EmptyState>
    );
  }
  return <AlertList alerts={data} label="Active alerts" />;
}

function sentenceOf(alerts: readonly Alert[] | undefined) {
  if (alerts === undefined) return {};
  if (alerts.length === 0) return { state: 'ok' as const, sentence: 'No alert is active.' };
  const worst =
    alerts.find(({ severity }) => severity === 'critical') ??
    alerts.find(({ severity }) => severity === 'warning') ??
    (alerts[0] as Alert);
  const more = alerts.length > 1 ? ` And ${plural(alerts.length - 1, 'more alert')}.` : '';
  return { state: worst.severity, sentence: worst.text + more };
}

export default function AlertsPage() {
  const { tab = 'active' } = useParams();
  const active = useQuery(activeAlertsQuery);
  // What mails and messages link to.
  if (/^(?:al|test)-/.test(tab)) return <AlertPage id={tab} />;
  // A message about many alerts: they are in the log.
  if (tab.startsWith('gr-')) return <Navigate to="/alerts/log" replace />;
  if (!tabs.some(([name]) => name === tab)) return <NoSuchPage />;
  return (
    <PageShell
      title="Alerts"
      {...sentenceOf(active.data)}
      tabs={
        <PartTabs
          of="Alerts"
          active={tab}
          parts={tabs.map(
            ([id, title]): Part<string> => [
              id,
              id === 'active' && active.data?.length ? `${title} (${active.data.length})` : title,
              id === 'active' ? '/alerts' : `/alerts/${id}`,
            ],
          )}
        />
      }
    >
      {tab === 'active' && <Active />}
      {tab === 'log' && <AlertLog />}
      {tab === 'thresholds' && <Thresholds />}
      {tab === 'silences' && <Silences />}
      {tab === 'catalogue' && <Catalogue />}
      {tab === 'destinations' && <Destinations />}
    </PageShell>
  );
}
