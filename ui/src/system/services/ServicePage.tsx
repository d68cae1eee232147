// One service: how it is and why, what it needs, what it uses, what it says, and what can be done about it.
import { Breadcrumb, BreadcrumbItem, Button, PageSection, Title } from '@patternfly/react-core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Link, useParams } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { servicesQuery } from '../../api/queries.ts';
import { useMayNot } from '../../api/session.ts';
import { Confirm } from '../../forms/Confirm.tsx';
import { Explained } from '../../forms/Explained.tsx';
import { Facts } from '../../shells/Facts.tsx';
import NoSuchPage from '../../shells/NoSuchPage.tsx';
import { PageHead } from '../../shells/PageHead.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { Ago } from '../../words/Ago.tsx';
import { bytes, duration, exactBytes, seconds } from '../../words/format.ts';
import { LogView } from '../logs/LogView.tsx';
import { lost, type Service, serviceState } from './words.ts';

type Action = 'start' | 'stop' | 'restart' | 'clear';

/** Without these a service could not be started again from here. */
const neverStopped = new Set(['akd', 'execd', 'nginx']);

const act = (name: string, action: Action) => {
  const params = { params: { path: { name } } };
  switch (action) {
    case 'start':
      return answerOf(client.POST('/api/services/{name}/start', params));
    case 'stop':
      return answerOf(client.POST('/api/services/{name}/stop', params));
    case 'clear':
      return answerOf(client.POST('/api/services/{name}/clear', params));
    case 'restart':
      return answerOf(client.POST('/api/services/{name}/restart', params));
  }
};

/** The state in words that say what is to be done. */
function why(service: Service): string {
  if (service.waitingFor) return `It waits for ${service.waitingFor}, and starts as soon as that is running.`;
  switch (service.state) {
    case 'online':
      return service.restarts > 0
        ? `It was restarted ${service.restarts} times after it had ended.`
        : 'It runs as it should.';
    case 'starting':
      return service.reason ?? 'It is being started.';
    case 'stopped':
      return 'It was stopped by a user. It starts again when you start it, or when the appliance starts.';
    case 'failed':
      return `${service.reason ?? 'It has failed.'} Its log below says more. Start it again when the cause is mended.`;
    case 'maintenance':
      return `${service.reason ?? 'It failed too often.'} It is not tried any more until it is cleared: mend the cause that its log shows, then clear it.`;
  }
}

export default function ServicePage() {
  const { name = '' } = useParams();
  const { data, error, refetch } = useQuery(servicesQuery);
  const queries = useQueryClient();
  const mayNot = useMayNot('operator');
  const [asking, setAsking] = useState<Action | null>(null);
  if (data === undefined) {
    return <Waiting on={{ error, refetch }} page />;
  }
  const service = data.find((one) => one.name === name);
  if (service === undefined) return <NoSuchPage />;
  const { condition, words } = serviceState[service.state];
  const down = service.state === 'stopped' || service.state === 'failed' || service.state === 'maintenance';
  const actions: readonly [Action, string, string | null][] = down
    ? [service.state === 'maintenance' ? ['clear', 'Clear and start', mayNot] : ['start', 'Start', mayNot]]
    : [
        ['restart', 'Restart', mayNot],
        [
          'stop',
          'Stop',
          mayNot ??
            (neverStopped.has(name) ? 'Without it, it could not be started again from here. Restart it.' : null),
        ],
      ];
  const perform = async (action: Action) => {
    await act(name, action);
    await queries.invalidateQueries({ queryKey: ['services'] });
  };
  const facts: readonly [string, ReactNode][] = [
    ['Since', <Ago key="since" time={service.since} />],
    ['Process', service.pid ?? '–'],
    [
      'Memory',
      service.memoryBytes === null ? (
        '–'
      ) : (
        <span key="memory" title={exactBytes(service.memoryBytes)}>
          {bytes(service.memoryBytes)}
        </span>
      ),
    ],
    [
      'Processor time',
      service.cpuSeconds === null
        ? '–'
        : service.cpuSeconds < 60
          ? seconds(service.cpuSeconds)
          : duration(service.cpuSeconds),
    ],
    ['Restarts', service.restarts],
    [
      'Needs',
      service.needs.length === 0
        ? 'nothing of the appliance'
        : service.needs.map((need, index) => (
            <span key={need}>
              {index > 0 && ', '}
              {data.some((one) => one.name === need) ? <Link to={`/services/${need}`}>{need}</Link> : need}
            </span>
          )),
    ],
    [
      'Needed by',
      data
        .filter(({ needs }) => needs.includes(name))
        .map((one) => one.name)
        .join(', ') || 'nothing of the appliance',
    ],
  ];
  return (
    <>
      <PageSection type="breadcrumb">
        <Breadcrumb>
          <BreadcrumbItem>
            <Link to="/services">Services</Link>
          </BreadcrumbItem>
          <BreadcrumbItem isActive>{service.title}</BreadcrumbItem>
        </Breadcrumb>
      </PageSection>
      <PageHead title={service.title} state={condition} sentence={`${service.name} is ${words}. ${why(service)}`} />
      <PageSection>
        <div className="cistern-stack">
          <p>{service.description}</p>
          <div className="cistern-actions">
            {actions.map(([action, title, reason]) => (
              <Explained key={action} why={reason}>
                <Button
                  variant={action === 'stop' ? 'link' : 'secondary'}
                  isDanger={action === 'stop'}
                  isAriaDisabled={reason !== null}
                  onClick={() => setAsking(action)}
                >
                  {title}
                </Button>
              </Explained>
            ))}
          </div>
          <Facts facts={facts} isHorizontal isCompact columnModifier={{ lg: '2Col' }} />
          <section aria-labelledby="log">
            <Title headingLevel="h2" id="log">
              Log
            </Title>
            {mayNot === null ? <LogView filter={{ service: name }} /> : <p>{mayNot}</p>}
          </section>
        </div>
      </PageSection>
      {asking && (
        <Confirm
          title={`${asking === 'clear' ? 'Clear and start' : asking[0]?.toUpperCase() + asking.slice(1)} ${service.title}?`}
          action={asking === 'clear' ? 'Clear and start' : asking[0]?.toUpperCase() + asking.slice(1)}
          danger={asking === 'stop'}
          onClose={() => setAsking(null)}
          onConfirm={() => perform(asking)}
        >
          <p>
            {asking === 'stop'
              ? 'It stays away until it is started again, or the appliance is.'
              : asking === 'restart'
                ? (lost[service.name] ?? 'It is away for a few seconds. Nothing is lost.')
                : 'It is started now.'}
          </p>
        </Confirm>
      )}
    </>
  );
}
