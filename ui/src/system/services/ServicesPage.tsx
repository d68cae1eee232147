// The parts of the appliance: which run, since when, and a restart.
import { Button, Modal, ModalBody, ModalFooter, ModalHeader } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { servicesQuery } from '../../api/queries.ts';
import { useMayNot } from '../../api/session.ts';
import { Explained } from '../../forms/Explained.tsx';
import { ListTable } from '../../shells/ListTable.tsx';
import { PageShell } from '../../shells/PageShell.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { Ago } from '../../words/Ago.tsx';
import { type Condition, ConditionIcon } from '../../words/ConditionIcon.tsx';
import { bytes, exactBytes, plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { ServicesTabs } from './ServicesTabs.tsx';
import { lost, type Service, serviceState } from './words.ts';

function sentenceOf(services: readonly Service[]): { state: Condition; sentence: string } {
  const bad = services.filter((service) => service.state !== 'online');
  if (bad.length === 0) return { state: 'ok', sentence: `All ${services.length} services are running.` };
  const worst = bad.find(({ state }) => serviceState[state].condition === 'critical') ?? (bad[0] as Service);
  const more = bad.length > 1 ? ` ${plural(bad.length - 1, 'more service is', 'more services are')} not running.` : '';
  const why = worst.reason ? `: ${worst.reason}` : worst.waitingFor ? `: waiting for ${worst.waitingFor}` : '';
  return {
    state: serviceState[worst.state].condition,
    sentence: `${worst.title} is ${serviceState[worst.state].words}${why}.${more}`,
  };
}

function Restart({ service, onClose }: { service: Service; onClose: () => void }) {
  const queries = useQueryClient();
  const restart = useMutation({
    mutationFn: () =>
      answerOf(client.POST('/api/services/{name}/restart', { params: { path: { name: service.name } } })),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['services'] });
      onClose();
    },
  });
  return (
    <Modal isOpen variant="small" onClose={onClose} aria-labelledby="restart-title">
      <ModalHeader title={`Restart ${service.title}?`} labelId="restart-title" />
      <ModalBody>
        <p>{lost[service.name] ?? 'It is away for a few seconds. Nothing is lost.'}</p>
        <ProblemAlert error={restart.error} />
      </ModalBody>
      <ModalFooter>
        <Button isLoading={restart.isPending} onClick={() => restart.mutate()}>
          Restart
        </Button>
        <Button variant="link" onClick={onClose}>
          Cancel
        </Button>
      </ModalFooter>
    </Modal>
  );
}

export default function ServicesPage() {
  const { data, error, refetch } = useQuery(servicesQuery);
  const mayNot = useMayNot('operator');
  const [restarting, setRestarting] = useState<Service | null>(null);
  if (data === undefined) {
    return <Waiting on={{ error, refetch }} page />;
  }
  return (
    <PageShell title="Services" {...sentenceOf(data)} tabs={<ServicesTabs active="services" />}>
      <ListTable
        label="Services"
        variant={undefined}
        rows={data}
        keyOf={(service) => service.name}
        columns={[
          {
            title: 'Service',
            cell: (service) => (
              <div>
                <strong>
                  <Link to={`/services/${service.name}`}>{service.title}</Link>
                </strong>{' '}
                <small className="cistern-quiet">{service.name}</small>
                <div className="cistern-quiet">{service.description}</div>
              </div>
            ),
          },
          {
            title: 'State',
            cell: ({ state, reason, waitingFor }) => (
              <div>
                <ConditionIcon state={serviceState[state].condition} /> {serviceState[state].words}
                {reason && <div className="cistern-bad">{reason}</div>}
                {waitingFor && <div className="cistern-quiet">waiting for {waitingFor}</div>}
              </div>
            ),
          },
          { title: 'Since', cell: (service) => <Ago time={service.since} /> },
          {
            title: 'Memory',
            cell: ({ memoryBytes }) =>
              memoryBytes === null ? '–' : <span title={exactBytes(memoryBytes)}>{bytes(memoryBytes)}</span>,
          },
          { title: 'Restarts', cell: (service) => service.restarts },
          {
            title: 'Actions',
            control: 'actions',
            cell: (service) => (
              <Explained why={mayNot}>
                <Button
                  variant="secondary"
                  size="sm"
                  isAriaDisabled={mayNot !== null}
                  aria-label={`Restart ${service.title}`}
                  onClick={() => setRestarting(service)}
                >
                  Restart
                </Button>
              </Explained>
            ),
          },
        ]}
      />
      {restarting && <Restart service={restarting} onClose={() => setRestarting(null)} />}
    </PageShell>
  );
}
