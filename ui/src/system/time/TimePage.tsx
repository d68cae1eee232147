// How the clock is kept: what the time servers answer, and which are asked.
import { Title } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useMayNot } from '../../api/session.ts';
import { type Column, ListTable } from '../../shells/ListTable.tsx';
import { PageShell } from '../../shells/PageShell.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';
import { duration, seconds } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { MaintenanceTabs } from '../MaintenanceTabs.tsx';
import { timeQuery } from './queries.ts';
import { conditionOf, type TimeSource, type TimeState } from './servers.ts';
import { TimeServers } from './TimeServers.tsx';

const NAMED_BY = { settings: 'by the settings', network: 'by the network', default: 'by the image' } as const;

const columns: readonly Column<TimeSource & { from: string }>[] = [
  {
    title: 'Server',
    cell: ({ name, address, from }) => (
      <div>
        <span className="cistern-name">{name}</span>
        <div className="cistern-quiet">
          {address !== null && address !== name ? `${address}, ` : ''}
          {from}
        </div>
      </div>
    ),
  },
  {
    title: 'State',
    cell: (one) => (
      <span>
        <ConditionIcon state={conditionOf(one)} /> {one.sentence}
      </span>
    ),
  },
  {
    title: 'Clock is off by',
    modifier: 'nowrap',
    cell: ({ offsetSeconds }) =>
      offsetSeconds === null ? '–' : `${seconds(Math.abs(offsetSeconds))} ${offsetSeconds < 0 ? 'behind' : 'ahead'}`,
  },
  {
    title: 'Jitter',
    modifier: 'nowrap',
    cell: ({ jitterSeconds }) => (jitterSeconds === null ? '–' : seconds(jitterSeconds)),
  },
  {
    title: 'Last answer',
    modifier: 'nowrap',
    cell: ({ ageSeconds, answers }) => (
      <>
        {ageSeconds === null ? 'never' : `${duration(ageSeconds)} ago`}
        <div className="cistern-quiet">{answers} of the last 8</div>
      </>
    ),
  },
  { title: 'Stratum', modifier: 'nowrap', cell: ({ stratum }) => stratum ?? '–' },
  {
    title: 'Authenticated',
    modifier: 'nowrap',
    cell: ({ nts, authenticated }) => (authenticated ? 'yes, by NTS' : nts ? 'not yet' : 'no'),
  },
];

function Sources({ time }: { time: TimeState }) {
  if (time.sources.length === 0) {
    return <p>{time.running ? 'No time server is asked.' : 'Nobody is asked as long as chrony does not run.'}</p>;
  }
  const named = new Map(time.asked.map(({ address, from }) => [address, NAMED_BY[from]]));
  const rows = time.sources.map((one) => ({ ...one, from: `named ${named.get(one.name) ?? NAMED_BY.network}` }));
  return (
    <ListTable
      label="What the time servers answer"
      cardsBelow="grid-lg"
      columns={columns}
      rows={rows}
      keyOf={({ name, address }) => `${name} ${address}`}
    />
  );
}

export default function TimePage() {
  const mayNot = useMayNot('administrator');
  const { data, error, refetch } = useQuery({ ...timeQuery, enabled: mayNot === null });
  const tabs = <MaintenanceTabs active="time" />;
  if (mayNot !== null) {
    return (
      <PageShell title="Time" sentence="Whom the appliance asks for the time." tabs={tabs}>
        <p>{mayNot}</p>
      </PageShell>
    );
  }
  if (data === undefined) return <Waiting on={{ error, refetch }} page />;
  const { synchronised, running, leapSecond } = data;
  return (
    <PageShell
      title="Time"
      state={synchronised ? 'ok' : running ? 'warning' : 'critical'}
      sentence={data.sentence}
      tabs={tabs}
    >
      <div className="cistern-stack">
        {error && <ProblemAlert error={error} retry={() => void refetch()} stale />}
        {(leapSecond === 'insert' || leapSecond === 'delete') && (
          <p>A leap second is {leapSecond === 'insert' ? 'inserted' : 'left out'} at the end of this month (UTC).</p>
        )}
        <Sources time={data} />
        <section aria-labelledby="time-servers">
          <Title headingLevel="h2" id="time-servers">
            Whom it asks
          </Title>
          <TimeServers time={data} mayNot={mayNot} />
        </section>
      </div>
    </PageShell>
  );
}
