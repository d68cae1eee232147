// One host: how it is, what is known of it, its alerts, and charts that are made of what it sends.
import { Button, EmptyState, EmptyStateBody } from '@patternfly/react-core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { Link, useParams } from 'react-router';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { activeAlertsQuery } from '../../api/queries.ts';
import { useMayNot } from '../../api/session.ts';
import { ConfirmDialog } from '../../forms/ConfirmDialog.tsx';
import { Explained } from '../../forms/Explained.tsx';
import { TextField } from '../../forms/Field.tsx';
import { LinesField } from '../../forms/LinesField.tsx';
import { Facts } from '../../shells/Facts.tsx';
import { PageShell } from '../../shells/PageShell.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { Ago } from '../../words/Ago.tsx';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';
import { plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { ApplicationsTable, rowsOf } from '../applications/ApplicationsTable.tsx';
import { applicationsQuery, TIMES } from '../applications/application.ts';
import { ChartsToKeep } from '../panels/ChartsToKeep.tsx';
import { HostActions } from './HostActions.tsx';
import { HostStateLabel } from './HostStateLabel.tsx';
import { hostQuery } from './useHosts.ts';
import type { Host } from './view.ts';
import { hostOf, intervalWords } from './words.ts';

const WAY = [['Hosts', '/hosts']] as const;
const CONDITION = { reporting: 'ok', late: 'warning', absent: 'critical', retired: 'info' } as const;

function sentenceOf(host: Host): string {
  if (host.state === 'retired') return `Retired by ${host.retired?.by ?? 'somebody'}.`;
  if (host.state === 'reporting') return `It reports, ${intervalWords(host)}.`;
  return host.state === 'late' ? 'It is late.' : 'It is absent: nothing comes from it.';
}

function HostAlerts({ name }: { name: string }) {
  const { data = [] } = useQuery(activeAlertsQuery);
  const own = data.filter(({ labels }) => hostOf(labels) === name);
  if (own.length === 0) return null;
  return (
    <section aria-label="Active alerts">
      <h2>{plural(own.length, 'active alert')}</h2>
      <ul className="cistern-host-alerts">
        {own.slice(0, 20).map((alert) => (
          <li key={alert.id}>
            <ConditionIcon state={alert.severity} /> <Link to={`/alerts/${alert.id}`}>{alert.title}</Link>{' '}
            <span className="cistern-quiet">
              since <Ago time={alert.raisedAt} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function SayDialog({ host, onClose }: { host: Host; onClose: () => void }) {
  const [note, setNote] = useState(host.note);
  const [lines, setLines] = useState(
    Object.entries(host.ownLabels)
      .map(([name, value]) => `${name}=${value}`)
      .join('\n'),
  );
  const queries = useQueryClient();
  const labels = lines
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const wrong = labels.find((line) => !/^[^=]+=.+$/.test(line));
  return (
    <ConfirmDialog
      title={`What is known of ${host.name}`}
      action="Save"
      mayNot={wrong === undefined ? null : `“${wrong}” is no label: write it as rack=7.`}
      onClose={onClose}
      onConfirm={async () => {
        const ownLabels = Object.fromEntries(
          labels.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
        );
        const params = { path: { name: host.name }, header: { 'If-Match': host.etag ?? '' } };
        await answerOf(client.PUT('/api/hosts/{name}', { params, body: { note: note.trim(), ownLabels } }));
        await queries.invalidateQueries({ queryKey: ['hosts'] });
      }}
    >
      <TextField label="Note" value={note} onChange={setNote} autoComplete="off" />
      <LinesField
        label="Labels"
        help="One a line, as rack=7; for filters and groups."
        error={undefined}
        value={lines}
        onChange={setLines}
      />
    </ConfirmDialog>
  );
}

const NO_CHARTS = (
  <EmptyState titleText="No charts" headingLevel="h3" variant="sm">
    <EmptyStateBody>
      What comes from this address names no host, so that its series cannot be told from those of others. Send a label
      “host” with them.
    </EmptyStateBody>
  </EmptyState>
);

/** The applications that send from it. */
function HostApplications({ name }: { name: string }) {
  const { data } = useQuery(applicationsQuery(TIMES[0][0], name));
  if (data === undefined || data.items.length === 0) return null;
  return (
    <section aria-label="Applications">
      <h2>Applications</h2>
      <p className="cistern-quiet">What they do on all of their hosts, in {TIMES[0][1]}</p>
      <ApplicationsTable rows={rowsOf(data.items)} />
    </section>
  );
}

function chartsQuery(name: string) {
  return {
    // Not under the topic: what a host sends changes seldom, and hosts do all the time.
    queryKey: ['host-charts', name],
    queryFn: async ({ signal }: { signal: AbortSignal }) =>
      (await answerOf(client.GET('/api/hosts/{name}/charts', { params: { path: { name } }, signal }))).items,
    staleTime: 60_000,
  };
}

function labelWords(labels: Schemas['Host']['labels']) {
  const words = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  return words.length === 0 ? 'none' : words.join(', ');
}

export default function HostPage() {
  const { name = '' } = useParams();
  const found = useQuery(hostQuery(name));
  const charts = useQuery(chartsQuery(name));
  const [saying, setSaying] = useState(false);
  const [said, setSaid] = useState<string | null>(null);
  const mayNot = useMayNot('operator');
  const names = useMemo(() => [name], [name]);
  const host = found.data;
  if (host === undefined) {
    return (
      <PageShell title={name} way={WAY}>
        <Waiting on={found} />
      </PageShell>
    );
  }
  return (
    <PageShell
      title={host.name}
      state={CONDITION[host.state]}
      sentence={sentenceOf(host)}
      way={WAY}
      actions={
        <div className="cistern-row-actions">
          <Explained why={mayNot}>
            <Button variant="secondary" isAriaDisabled={mayNot !== null} onClick={() => setSaying(true)}>
              Note and labels
            </Button>
          </Explained>
          <HostActions hosts={names} metric="" onDone={setSaid} />
        </div>
      }
    >
      <ProblemAlert error={found.error} stale retry={() => void found.refetch()} />
      {said !== null && <p aria-live="polite">{said}</p>}
      <Facts
        isHorizontal
        isCompact
        columnModifier={{ default: '1Col', lg: '2Col' }}
        facts={[
          ['State', <HostStateLabel key="state" host={host} />],
          ['Last heard of', <Ago key="last" time={host.lastAt} />],
          ['Known since', <Ago key="first" time={host.firstAt} />],
          ['Sends', intervalWords(host)],
          ['Series', String(host.series)],
          ['Inputs', host.inputs.length === 0 ? 'not known' : host.inputs.join(', ')],
          ['Named by', host.by.join(', ')],
          ['Labels', labelWords(host.labels)],
          ...(host.note === '' ? [] : [['Note', host.note] as const]),
        ]}
      />
      <HostAlerts name={host.name} />
      <HostApplications name={host.name} />
      {charts.data === undefined ? (
        <Waiting on={charts} />
      ) : (
        <ChartsToKeep
          name={host.name}
          title="What it sends"
          charts={charts.data}
          find={host.name}
          label={host.by.find((one) => one !== 'instance' && one !== 'sender')}
          empty={NO_CHARTS}
        />
      )}
      {saying && <SayDialog host={host} onClose={() => setSaying(false)} />}
    </PageShell>
  );
}
