// One application, or one of its operations: how much it does, what fails, how long it takes, from which hosts, and its alerts.
import { EmptyState, EmptyStateBody, Title } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { Link, useParams } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { Facts } from '../../shells/Facts.tsx';
import { type Column, ListTable } from '../../shells/ListTable.tsx';
import { PageShell } from '../../shells/PageShell.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { hostPath } from '../hosts/words.ts';
import { ChartsToKeep } from '../panels/ChartsToKeep.tsx';
import type { Chart } from '../worksheets/sheet.ts';
import {
  type ApplicationDetail,
  type ApplicationPart,
  applicationQuery,
  chartsOf,
  failedWords,
  KINDS,
  pathOf,
  rateWords,
  sentenceOf,
  TIMES,
  timeWords,
} from './application.ts';

const MEASURED = TIMES[0];
const MOST_HOSTS = 12;

type Operation = ApplicationPart['operations'][number];

function Hosts({ hosts }: { hosts: readonly string[] }) {
  if (hosts.length === 0) return <>nothing names them</>;
  return (
    <>
      {hosts.slice(0, MOST_HOSTS).map((host, at) => (
        <span key={host}>
          {at > 0 && ', '}
          <Link to={hostPath(host)}>{host}</Link>
        </span>
      ))}
      {hosts.length > MOST_HOSTS && ` and ${hosts.length - MOST_HOSTS} more`}
    </>
  );
}

function Operations({ application, part }: { application: string; part: ApplicationPart }) {
  const columns: readonly Column<Operation>[] = [
    {
      title: 'Operation',
      head: { width: 40 },
      cell: ({ name }) => (
        <Link to={pathOf(application, name)} className="cistern-name cistern-wrap">
          {name}
        </Link>
      ),
    },
    { title: 'Operations', modifier: 'nowrap', cell: ({ rate }) => rateWords(rate) },
    { title: 'Failed', modifier: 'nowrap', cell: failedWords },
    { title: 'Half within', modifier: 'nowrap', cell: ({ median }) => timeWords(median) },
    { title: '99 of 100 within', modifier: 'nowrap', cell: ({ p99 }) => timeWords(p99) },
  ];
  if (part.operations.length === 0) return null;
  const { length } = part.operations;
  return (
    <>
      <ListTable
        label={`Operations: ${KINDS[part.kind]}`}
        columns={columns}
        rows={part.operations}
        keyOf={({ name }) => name}
      />
      {part.operationsTotal > length && (
        <p className="cistern-quiet">
          {length} of {plural(part.operationsTotal, 'operation')}: the most frequent.
        </p>
      )}
    </>
  );
}

/** What is shown of an application as a whole, or of the operation that was chosen. */
function shownOf(found: ApplicationDetail, operation: string | undefined) {
  if (operation === undefined) return found.parts.map((part) => ({ part, of: KINDS[part.kind], drawn: part }));
  return found.parts.flatMap((part) =>
    part.operations.filter(({ name }) => name === operation).map((drawn) => ({ part, of: drawn.name, drawn })),
  );
}

function Shown({ found, operation }: { found: ApplicationDetail; operation: string | undefined }) {
  const shown = shownOf(found, operation);
  // Figures come every ten seconds; the charts are the same ones until their queries are others.
  const text = JSON.stringify(
    shown.flatMap(({ part, of, drawn }, at) => chartsOf(`${part.kind}${at + 1}`, of, drawn, part.unit)),
  );
  const charts = useMemo(() => JSON.parse(text) as Chart[], [text]);
  const name = operation === undefined ? found.name : `${found.name}: ${operation}`;
  return (
    <>
      {shown.map(({ part, of, drawn }) => (
        <section key={`${part.kind} ${part.source}`} aria-label={of} className="cistern-application">
          <Title headingLevel="h2">{operation === undefined ? of : KINDS[part.kind]}</Title>
          <p>
            {sentenceOf(drawn)} <span className="cistern-quiet">in {MEASURED[1]}</span>
          </p>
          {operation === undefined && <Operations application={found.name} part={part} />}
        </section>
      ))}
      <ChartsToKeep
        {...{ name, charts, title: 'Over time' }}
        find={found.name}
        empty={
          <EmptyState titleText="No charts" headingLevel="h3" variant="sm">
            <EmptyStateBody>Nothing came in the last minutes.</EmptyStateBody>
          </EmptyState>
        }
      />
    </>
  );
}

function alertsQuery(name: string) {
  return {
    queryKey: ['alerts', 'search', 'application', name],
    queryFn: async ({ signal }: { signal: AbortSignal }) => {
      const query = { search: name, state: 'active' as const, limit: 10 };
      return (await answerOf(client.GET('/api/alerts', { params: { query }, signal }))).items;
    },
  };
}

export default function ApplicationPage() {
  const { name = '', operation } = useParams();
  const found = useQuery(applicationQuery(name, MEASURED[0]));
  const alerts = useQuery(alertsQuery(name));
  const way = [
    ['Applications', '/applications'] as const,
    ...(operation === undefined ? [] : [[name, pathOf(name)] as const]),
  ];
  if (found.data === undefined) {
    return (
      <PageShell title={operation ?? name} way={way}>
        <Waiting on={found} />
      </PageShell>
    );
  }
  const { parts, hosts } = found.data;
  return (
    <PageShell
      title={operation ?? name}
      sentence={
        operation === undefined
          ? parts.map((part) => `${KINDS[part.kind]}: ${sentenceOf(part)}`).join('. ')
          : `An operation of ${name}`
      }
      way={way}
    >
      <ProblemAlert error={found.error} stale retry={() => void found.refetch()} />
      <Facts
        isHorizontal
        isCompact
        facts={[
          ['Hosts', <Hosts key="hosts" hosts={hosts} />],
          ['Known by', parts.map(({ source }) => source).join(', ')],
          [
            'Active alerts',
            (alerts.data ?? []).length === 0
              ? 'none that name it'
              : alerts.data?.map(({ id, title }) => (
                  <div key={id}>
                    <Link to={`/alerts/${id}`}>{title}</Link>
                  </div>
                )),
          ],
        ]}
      />
      <Shown key={`${name} ${operation}`} found={found.data} operation={operation} />
    </PageShell>
  );
}
