// The parts of the appliance: which run, since when, and a restart.
import { Button, Modal, ModalBody, ModalFooter, ModalHeader, PageSection } from '@patternfly/react-core';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { servicesQuery } from '../../api/queries.ts';
import { useMayNot } from '../../api/session.ts';
import { Explained } from '../../forms/Explained.tsx';
import { PageHead } from '../../shells/PageHead.tsx';
import { PageLoading } from '../../shells/PageLoading.tsx';
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
    return error ? (
      <PageSection>
        <ProblemAlert error={error} retry={() => void refetch()} />
      </PageSection>
    ) : (
      <PageLoading />
    );
  }
  return (
    <>
      <PageHead title="Services" {...sentenceOf(data)} />
      <ServicesTabs active="services" />
      <PageSection>
        <Table aria-label="Services" gridBreakPoint="grid-md">
          <Thead>
            <Tr>
              <Th>Service</Th>
              <Th>State</Th>
              <Th>Since</Th>
              <Th>Memory</Th>
              <Th>Restarts</Th>
              <Th screenReaderText="Actions" />
            </Tr>
          </Thead>
          <Tbody>
            {data.map((service) => {
              const { condition, words } = serviceState[service.state];
              return (
                <Tr key={service.name}>
                  <Td dataLabel="Service">
                    <div>
                      <strong>
                        <Link to={`/services/${service.name}`}>{service.title}</Link>
                      </strong>{' '}
                      <small className="cistern-quiet">{service.name}</small>
                      <div className="cistern-quiet">{service.description}</div>
                    </div>
                  </Td>
                  <Td dataLabel="State">
                    <div>
                      <ConditionIcon state={condition} /> {words}
                      {service.reason && <div className="cistern-bad">{service.reason}</div>}
                      {service.waitingFor && <div className="cistern-quiet">waiting for {service.waitingFor}</div>}
                    </div>
                  </Td>
                  <Td dataLabel="Since">
                    <Ago time={service.since} />
                  </Td>
                  <Td dataLabel="Memory">
                    {service.memoryBytes === null ? (
                      '–'
                    ) : (
                      <span title={exactBytes(service.memoryBytes)}>{bytes(service.memoryBytes)}</span>
                    )}
                  </Td>
                  <Td dataLabel="Restarts">{service.restarts}</Td>
                  <Td dataLabel="Actions">
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
                  </Td>
                </Tr>
              );
            })}
          </Tbody>
        </Table>
        {restarting && <Restart service={restarting} onClose={() => setRestarting(null)} />}
      </PageSection>
    </>
  );
}
