// The parts of Alerts: active alerts, the log, how long they took, rules, silences, the catalogue and destinations.
import { Button, EmptyState, EmptyStateBody } from '@patternfly/react-core';
import CheckCircleIcon from '@patternfly/react-icons/dist/esm/icons/check-circle-icon';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, Navigate, useParams } from 'react-router';
import type { Schemas } from '../../api/client.ts';
import { alertGroupsQuery, alertSummaryQuery } from '../../api/queries.ts';
import NoSuchPage from '../../shells/NoSuchPage.tsx';
import { PageShell } from '../../shells/PageShell.tsx';
import { type Part, PartTabs } from '../../shells/PartTabs.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { compact } from '../../words/format.ts';
import { Catalogue } from '../catalogue/Catalogue.tsx';
import { Destinations } from '../destinations/Destinations.tsx';
import { Silences } from '../silences/Silences.tsx';
import { Thresholds } from '../thresholds/Thresholds.tsx';
import { AlertLog } from './AlertLog.tsx';
import { AlertPage } from './AlertPage.tsx';
import { GroupList } from './GroupList.tsx';
import { GroupPage } from './GroupPage.tsx';
import { Times } from './Times.tsx';

const tabs = [
  ['active', 'Active'],
  ['log', 'Log'],
  ['times', 'Times'],
  ['thresholds', 'Threshold rules'],
  ['silences', 'Silences'],
  ['catalogue', 'Catalogue'],
  ['destinations', 'Destinations'],
] as const;

const PAGE = 50;
/** As many as the appliance answers at once. */
const MOST = 200;

function Active() {
  const [limit, setLimit] = useState(PAGE);
  const { data, error, refetch, isPlaceholderData } = useQuery(alertGroupsQuery({ state: 'active' }, limit));
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
  return (
    <div className="cistern-stack">
      <GroupList groups={data} label="Active alerts" />
      {data.length >= limit && limit < MOST && (
        <div>
          <Button variant="secondary" isLoading={isPlaceholderData} onClick={() => setLimit(MOST)}>
            Older ones
          </Button>
        </div>
      )}
    </div>
  );
}

function sentenceOf(summary: Schemas['AlertSummary'] | undefined) {
  if (summary === undefined) return {};
  const [worst] = summary.worst;
  if (worst === undefined) return { state: 'ok' as const, sentence: 'No alert is active.' };
  const more = summary.groups > 1 ? ` And ${summary.groups - 1} more.` : '';
  const what = worst.alert === null ? `${worst.title}. ${worst.text}` : worst.text;
  return { state: worst.severity, sentence: what + more };
}

const countOf = ({ critical, warning, info }: Schemas['AlertSummary']) => critical + warning + info;

export default function AlertsPage() {
  const { tab = 'active' } = useParams();
  const { data: summary } = useQuery(alertSummaryQuery);
  // What mails and messages link to.
  if (/^(?:al|test)-/.test(tab)) return <AlertPage id={tab} />;
  if (tab.startsWith('bu-')) return <GroupPage id={tab} />;
  // A message about alerts of several groups: they are in the log.
  if (tab.startsWith('gr-')) return <Navigate to="/alerts/log" replace />;
  if (!tabs.some(([name]) => name === tab)) return <NoSuchPage />;
  return (
    <PageShell
      title="Alerts"
      {...sentenceOf(summary)}
      tabs={
        <PartTabs
          of="Alerts"
          active={tab}
          parts={tabs.map(
            ([id, title]): Part<string> => [
              id,
              id === 'active' && summary?.groups ? `${title} (${compact(countOf(summary))})` : title,
              id === 'active' ? '/alerts' : `/alerts/${id}`,
            ],
          )}
        />
      }
    >
      {tab === 'active' && <Active />}
      {tab === 'log' && <AlertLog />}
      {tab === 'times' && <Times />}
      {tab === 'thresholds' && <Thresholds />}
      {tab === 'silences' && <Silences />}
      {tab === 'catalogue' && <Catalogue />}
      {tab === 'destinations' && <Destinations />}
    </PageShell>
  );
}
