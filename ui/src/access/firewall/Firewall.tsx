// The firewall: what can be reached from the network, by whom, and who was turned away.
import { Alert, Button, Label, Title } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { asProblem } from '../../api/problem.ts';
import { Explained } from '../../forms/Explained.tsx';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { ListTable } from '../../shells/ListTable.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { Ago } from '../../words/Ago.tsx';
import { compact } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { firewallQuery } from './queries.ts';
import { Trying } from './Trying.tsx';
import { fromWords, ownWords, portsOf, type Service, titleOf } from './words.ts';

/** Where the networks of what is not set here are set. */
const elsewhere = { inputs: 'Inputs', ssh: 'SSH' } as const;

function ServiceForm(props: { service: Service; own: readonly string[]; add: string; onDone: () => void }) {
  const { service, own, add, onDone } = props;
  const [networks, setNetworks] = useState([...service.networks, ...(add === '' ? [] : [add])].join(' '));
  const queries = useQueryClient();
  const save = useMutation({
    mutationFn: () => {
      const list = networks.split(/[\s,;]+/).filter((one) => one !== '');
      return answerOf(
        client.POST('/api/firewall/try', { body: { services: [{ name: service.name, networks: list }] } }),
      );
    },
    onSuccess: (now) => {
      queries.setQueryData(firewallQuery.queryKey, now);
      onDone();
    },
  });
  const problem = save.error ? asProblem(save.error) : null;
  return (
    <FormShell submit="Try" onSubmit={() => save.mutate()} busy={save.isPending} error={save.error} cancel={onDone}>
      <Title headingLevel="h2" size="lg">
        {titleOf(service)}
      </Title>
      <TextField
        label="Only from these addresses"
        value={networks}
        onChange={setNetworks}
        placeholder="own 192.0.2.0/24"
        help={`Addresses or networks, with spaces between them; own: this appliance's networks, now ${ownWords(own)}. Empty: from everywhere.`}
        error={problem?.errors?.find(({ path }) => path.includes('/networks'))?.message}
        autoComplete="off"
      />
      <p className="cistern-quiet">It holds for a minute, and is then taken back unless you keep it.</p>
    </FormShell>
  );
}

export function Firewall() {
  const reading = useQuery(firewallQuery);
  const { data, error, refetch, dataUpdatedAt } = reading;
  const [editing, setEditing] = useState<{ name: string; add: string } | null>(null);
  if (data === undefined) return <Waiting on={reading} />;
  const { services, ownNetworks, trying } = data;
  const edited = services.find(({ name }) => name === editing?.name);
  if (edited && editing && trying === null)
    return (
      <ServiceForm
        key={`${edited.name} ${editing.add}`}
        service={edited}
        own={ownNetworks}
        add={editing.add}
        onDone={() => setEditing(null)}
      />
    );
  const senders = services.flatMap((service) =>
    service.senders.map((sender) => ({ ...sender, service, key: `${service.name} ${sender.address}` })),
  );
  const change = (service: Service, add: string, words: string, aria: string) =>
    service.setAt !== 'firewall' ? (
      <Link to={`/settings/${service.setAt}`} aria-label={`${titleOf(service)} at ${elsewhere[service.setAt]}`}>
        {elsewhere[service.setAt]}
      </Link>
    ) : (
      <Explained why={trying === null ? null : 'End the change that is being tried first.'}>
        <Button
          variant="link"
          isInline
          isAriaDisabled={trying !== null}
          aria-label={aria}
          onClick={() => setEditing({ name: service.name, add })}
        >
          {words}
        </Button>
      </Explained>
    );
  return (
    <div className="cistern-stack">
      {trying && <Trying trying={trying} readAt={dataUpdatedAt} />}
      <p>
        What is not in this list is closed, and so is what is off. The way out is free. What an input takes from where
        is set at <Link to="/settings/inputs">Inputs</Link>.
      </p>
      {data.differsAt && (
        <Alert
          isInline
          component="p"
          variant="warning"
          title="The rules that were loaded were not those that are set; they were loaded anew."
        >
          <p>
            <Ago time={data.differsAt} />
          </p>
          {data.differs.map((one) => (
            <p key={one}>{one}</p>
          ))}
        </Alert>
      )}
      {error && <ProblemAlert error={error} retry={() => void refetch()} stale />}
      <ListTable
        label="Services"
        rows={services}
        keyOf={({ name }) => name}
        columns={[
          {
            title: 'Service',
            cell: (service) => (
              <span>
                {titleOf(service)} {service.ports.length > 0 ? <Label color="green">on</Label> : <Label>off</Label>}
              </span>
            ),
          },
          { title: 'Ports', cell: ({ ports }) => portsOf(ports) || '–' },
          {
            title: 'From',
            cell: (service) => (service.ports.length > 0 ? '' : 'closed; when on: ') + fromWords(service, ownNetworks),
          },
          {
            title: 'Dropped',
            head: { modifier: 'nowrap' },
            cell: ({ dropped }) => (dropped === null ? '–' : compact(dropped)),
          },
          {
            title: 'Actions',
            control: 'actions',
            cell: (service) => change(service, '', 'Change', `Change ${titleOf(service)}`),
          },
        ]}
      />
      <p className="cistern-quiet">{`${compact(data.droppedOther)} packets for no service were dropped as well.`}</p>
      {services
        .filter(({ overLimit }) => (overLimit ?? 0) > 0)
        .map((service) => (
          <p key={service.name} className="cistern-quiet">
            {`${titleOf(service)}: ${compact(service.overLimit ?? 0)} packets were dropped because their address had 256 connections already.`}
          </p>
        ))}
      <section aria-labelledby="firewall-senders">
        <Title headingLevel="h2" size="lg" id="firewall-senders">
          Who was turned away within the last hour
        </Title>
        {!data.sendersKnown && <p className="cistern-quiet">This system counts packets, and not who sends them.</p>}
        {data.sendersKnown && senders.length === 0 && <p className="cistern-quiet">Nobody.</p>}
        {data.sendersFull && <p className="cistern-quiet">There were more senders than are remembered.</p>}
        {senders.length > 0 && (
          <ListTable
            label="Turned away"
            rows={senders}
            keyOf={({ key }) => key}
            columns={[
              { title: 'Address', cell: ({ address }) => address },
              { title: 'Service', cell: ({ service, ports }) => `${titleOf(service)}, ${portsOf(ports)}` },
              { title: 'Packets', cell: ({ packets }) => compact(packets) },
              { title: 'Since', cell: ({ firstAt }) => <Ago time={firstAt} /> },
              {
                title: 'Actions',
                control: 'actions',
                cell: ({ service, address }) => change(service, address, 'Let in', `Let in ${address}`),
              },
            ]}
          />
        )}
      </section>
    </div>
  );
}
