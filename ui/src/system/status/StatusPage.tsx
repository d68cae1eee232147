// The state of the appliance: one sentence, what to do next, four tiles, and live charts.
import { Alert, Card, CardBody, CardTitle, Progress } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import type { Schemas } from '../../api/client.ts';
import { alertSummaryQuery, servicesQuery, statusQuery } from '../../api/queries.ts';
import { PageShell } from '../../shells/PageShell.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { poolCondition } from '../../storage/pools/words.ts';
import { type Condition, ConditionIcon } from '../../words/ConditionIcon.tsx';
import { bytes, compact, exactBytes, percent, plural } from '../../words/format.ts';
import { serviceState } from '../services/words.ts';
import { IncomingSentence, WorstMoments } from './Incoming.tsx';
import { LiveCharts } from './LiveCharts.tsx';
import { NewSenders } from './NewSenders.tsx';

type Status = Schemas['Status'];

function Tile({ title, state, to, children }: { title: string; state: Condition; to: string; children: ReactNode }) {
  return (
    <Card component="section" aria-label={title} className="cistern-tile">
      <CardTitle component="h2">
        <ConditionIcon state={state} /> <Link to={to}>{title}</Link>
      </CardTitle>
      <CardBody>{children}</CardBody>
    </Card>
  );
}

function worst(states: readonly Condition[]): Condition {
  return (['critical', 'warning', 'info'] as const).find((state) => states.includes(state)) ?? 'ok';
}

function Capacity({ pools }: { pools: Status['pools'] }) {
  // The measurements' pool is what fills up; the system pool only matters where they live on it.
  const shown = pools.filter((pool) => pool.telemetry).length > 0 ? pools.filter((pool) => pool.telemetry) : pools;
  const fullest = Math.max(0, ...shown.map((pool) => pool.capacity));
  return (
    <Tile title="Capacity" state={fullest > 0.9 ? 'critical' : fullest > 0.8 ? 'warning' : 'ok'} to="/storage">
      {shown.map((pool) => (
        <Progress
          key={pool.name}
          title={pool.name}
          value={pool.capacity * 100}
          label={percent(pool.capacity)}
          helperText={
            <span title={exactBytes(pool.allocated)}>
              {bytes(pool.allocated)} of {bytes(pool.bytes)}
            </span>
          }
          size="sm"
          aria-label={`${pool.name}: used`}
        />
      ))}
    </Tile>
  );
}

function Ingest({ ingest }: { ingest: Status['ingest'] }) {
  const { samplesPerSecond, rejectedPerSecond, series, available } = ingest;
  const all = samplesPerSecond + rejectedPerSecond;
  const share = all > 0 ? rejectedPerSecond / all : 0;
  return (
    <Tile
      title="Ingest"
      state={!available ? 'critical' : share > 0.01 ? 'warning' : 'ok'}
      to="/analytics/explore?metric=cistern_storaged_samples_total"
    >
      {available ? (
        <>
          <p className="cistern-figure">
            {compact(samplesPerSecond)} <small>samples/s</small>
          </p>
          <p>
            {plural(series, 'series', 'series')}; {share === 0 ? 'none refused' : `${percent(share)} refused`}
          </p>
        </>
      ) : (
        <p>The telemetry store does not answer: no measurement is taken in.</p>
      )}
    </Tile>
  );
}

function Services() {
  const { data: services } = useQuery(servicesQuery);
  if (services === undefined) return null;
  const running = services.filter(({ state }) => state === 'online').length;
  return (
    <Tile title="Services" state={worst(services.map(({ state }) => serviceState[state].condition))} to="/services">
      <p className="cistern-figure">
        {running} <small>of {services.length} running</small>
      </p>
      {services
        .filter(({ state }) => state !== 'online')
        .map((service) => (
          <p key={service.name}>
            {service.title} is {serviceState[service.state].words}.
          </p>
        ))}
    </Tile>
  );
}

function Safety({ pools }: { pools: Status['pools'] }) {
  return (
    <Tile title="Data safety" state={worst(pools.map(poolCondition))} to="/storage">
      {pools.map((pool) => (
        <p key={pool.name}>
          <strong>{pool.name}</strong> {pool.sentence}
        </p>
      ))}
    </Tile>
  );
}

function ActiveAlerts() {
  const { data: summary } = useQuery(alertSummaryQuery);
  const { worst = [], groups = 0 } = summary ?? {};
  // A single one is the sentence above already.
  if (groups < 2) return null;
  return (
    <>
      {worst.map((group) => (
        <Alert
          key={group.id}
          isInline
          variant={group.severity === 'critical' ? 'danger' : group.severity}
          title={group.title}
          component="h2"
          actionLinks={<Link to={`/alerts/${group.alert?.id ?? group.id}`}>See what to do</Link>}
        >
          {group.text}
        </Alert>
      ))}
      {groups > worst.length && (
        <Link to="/alerts">{plural(groups - worst.length, 'more that is active', 'more that are active')}</Link>
      )}
    </>
  );
}

/** An hour; less on a machine that has not run for one, so that its first minutes are not a sliver. */
function historyOf(uptimeSeconds: number): number {
  return [300, 900].find((range) => uptimeSeconds < range) ?? 3600;
}

export default function StatusPage() {
  const { data: status, error, refetch } = useQuery(statusQuery);
  if (status === undefined) {
    return <Waiting on={{ error, refetch }} page />;
  }
  const { next, incoming } = status;
  return (
    <PageShell
      title="Status"
      state={status.severity}
      sentence={
        <>
          {status.sentence}
          {next && (
            <Link to={next.page} className="cistern-next">
              {next.text}
            </Link>
          )}
          <IncomingSentence incoming={incoming} />
        </>
      }
    >
      <div className="cistern-stack">
        <ActiveAlerts />
        <NewSenders />
        <div className="cistern-tiles">
          <Safety pools={status.pools} />
          <Capacity pools={status.pools} />
          <Ingest ingest={status.ingest} />
          <Services />
        </div>
        <LiveCharts range={historyOf(status.uptimeSeconds)} />
        <WorstMoments />
      </div>
    </PageShell>
  );
}
