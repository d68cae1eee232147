// The machine itself: how its clock is kept, its network links, its temperatures.
import { Button } from '@patternfly/react-core';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table';
import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from 'react-router';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { useMayNot } from '../../api/session.ts';
import { Explained } from '../../forms/Explained.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { Ago } from '../../words/Ago.tsx';
import { type Condition, ConditionIcon } from '../../words/ConditionIcon.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';

type MachineLink = Schemas['MachineLink'];
type Temperature = Schemas['MachineTemperature'];

// Below "status": an alert that is raised or cleared has it read anew.
const machineQuery = queryOptions({
  queryKey: ['status', 'machine'],
  queryFn: ({ signal }) => answerOf(client.GET('/api/machine', { signal })),
  refetchInterval: 10_000,
});

const clockStates: Record<Schemas['MachineClock']['state'], Condition> = {
  synchronised: 'ok',
  waiting: 'info',
  unsynchronised: 'warning',
  unknown: 'info',
};
const linkStates: Record<MachineLink['state'], [Condition, string]> = {
  up: ['ok', 'up'],
  down: ['warning', 'down'],
  gone: ['warning', 'gone'],
  unused: ['info', 'unused'],
  off: ['info', 'off'],
};

const origins: Record<NonNullable<Schemas['MachineAddress']['origin']>, string> = {
  dhcp: 'by DHCP',
  static: 'by configuration',
  autoconfigured: 'autoconfigured',
};

function Addresses({ link: { addresses, mac, mtu, state } }: { link: MachineLink }) {
  if (state === 'gone') return null;
  const facts = [mac, mtu !== null && `MTU ${mtu}`].filter(Boolean).join(', ');
  return (
    <div className="cistern-wrap">
      {addresses === null && <div className="cistern-quiet">The addresses cannot be asked for.</div>}
      {addresses?.map(({ address, prefix, origin }) => (
        <div key={`${address}/${prefix}`}>
          {prefix === null ? address : `${address}/${prefix}`}
          {origin && <span className="cistern-quiet"> {origins[origin]}</span>}
        </div>
      ))}
      {facts !== '' && <div className="cistern-quiet">{facts}</div>}
    </div>
  );
}

function LinkRow({ link, mayNot }: { link: MachineLink; mayNot: string | null }) {
  const queries = useQueryClient();
  const forget = useMutation({
    mutationFn: () => answerOf(client.DELETE('/api/machine/links/{name}', { params: { path: { name: link.name } } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['status'] }),
  });
  const [condition, word] = linkStates[link.state];
  return (
    <Tr>
      <Td dataLabel="Link">{link.name}</Td>
      <Td dataLabel="State">
        <span>
          <ConditionIcon state={condition} /> {word}
        </span>
      </Td>
      <Td dataLabel="In words">
        <div>
          {link.sentence}
          {link.member && ` It belongs to ${link.member}.`}
          <ProblemAlert error={forget.error} />
        </div>
      </Td>
      <Td dataLabel="Addresses">
        <Addresses link={link} />
      </Td>
      <Td isActionCell>
        {(link.state === 'down' || link.state === 'gone') && (
          <Explained why={mayNot}>
            <Button
              variant="link"
              isAriaDisabled={mayNot !== null}
              isLoading={forget.isPending}
              onClick={() => forget.mutate()}
              aria-label={`Forget the network link ${link.name}`}
            >
              Forget
            </Button>
          </Explained>
        )}
      </Td>
    </Tr>
  );
}

const degrees = (celsius: number) => `${Math.round(celsius)} °C`;

function TemperatureRow({ one }: { one: Temperature }) {
  return (
    <Tr>
      <Td dataLabel="Where">
        {one.disk === null ? one.title : <Link to={`/storage/disks/${encodeURIComponent(one.disk)}`}>{one.title}</Link>}
      </Td>
      <Td dataLabel="Now">
        <span>
          <ConditionIcon state={one.state} /> {degrees(one.celsius)}
        </span>
      </Td>
      <Td dataLabel="Alert from">
        {`${degrees(one.warning)}${one.critical === null ? '' : `, critical from ${degrees(one.critical)}`}`}
      </Td>
    </Tr>
  );
}

export function Machine() {
  const mayNot = useMayNot('operator');
  const { data, error, refetch } = useQuery(machineQuery);
  if (data === undefined) return <Waiting on={{ error, refetch }} />;
  const { clock, links, temperatures, errors } = data;
  return (
    <div className="cistern-stack">
      {error && <ProblemAlert error={error} retry={() => void refetch()} stale />}
      <p>
        <ConditionIcon state={clockStates[clock.state]} /> <strong>Clock.</strong> {clock.sentence}
        {clock.state === 'synchronised' && clock.answeredAt && (
          <>
            {' '}
            The last answer came <Ago time={clock.answeredAt} />.
          </>
        )}
      </p>
      {errors.map((text) => (
        <p key={text}>
          <ConditionIcon state="info" /> {text}
        </p>
      ))}
      {links.length > 0 && (
        <Table aria-label="Network links" variant="compact" gridBreakPoint="grid-md">
          <Thead>
            <Tr>
              <Th>Link</Th>
              <Th>State</Th>
              <Th>In words</Th>
              <Th>Addresses</Th>
              <Th screenReaderText="Actions" />
            </Tr>
          </Thead>
          <Tbody>
            {links.map((link) => (
              <LinkRow key={link.name} link={link} mayNot={mayNot} />
            ))}
          </Tbody>
        </Table>
      )}
      {temperatures.length === 0 ? (
        <p>No sensor of this machine says how warm it is; virtual machines have none.</p>
      ) : (
        <Table aria-label="Temperatures" variant="compact" gridBreakPoint="grid-md">
          <Thead>
            <Tr>
              <Th>Where</Th>
              <Th>Now</Th>
              <Th>Alert from</Th>
            </Tr>
          </Thead>
          <Tbody>
            {temperatures.map((one) => (
              <TemperatureRow key={one.id} one={one} />
            ))}
          </Tbody>
        </Table>
      )}
    </div>
  );
}
