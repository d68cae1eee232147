// The machine itself: how its clock is kept, its network links, its temperatures.
import { Button } from '@patternfly/react-core';
import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from 'react-router';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { useMayNot } from '../../api/session.ts';
import { Explained } from '../../forms/Explained.tsx';
import { type Column, ListTable } from '../../shells/ListTable.tsx';
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

/** The columns of the network links. One that is gone, or down for good, can be forgotten. */
function useLinkColumns(): readonly Column<MachineLink>[] {
  const mayNot = useMayNot('operator');
  const queries = useQueryClient();
  const forget = useMutation({
    mutationFn: (name: string) => answerOf(client.DELETE('/api/machine/links/{name}', { params: { path: { name } } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['status'] }),
  });
  return [
    { title: 'Link', cell: ({ name }) => name },
    {
      title: 'State',
      cell: ({ state }) => {
        const [condition, word] = linkStates[state];
        return (
          <span>
            <ConditionIcon state={condition} /> {word}
          </span>
        );
      },
    },
    {
      title: 'In words',
      cell: ({ name, sentence, member }) => (
        <div>
          {sentence}
          {member && ` It belongs to ${member}.`}
          <ProblemAlert error={forget.variables === name ? forget.error : null} />
        </div>
      ),
    },
    { title: 'Addresses', cell: (link) => <Addresses link={link} /> },
    {
      title: 'Actions',
      control: 'actions',
      cell: ({ name, state }) =>
        (state === 'down' || state === 'gone') && (
          <Explained why={mayNot}>
            <Button
              variant="link"
              isAriaDisabled={mayNot !== null}
              isLoading={forget.isPending && forget.variables === name}
              onClick={() => forget.mutate(name)}
              aria-label={`Forget the network link ${name}`}
            >
              Forget
            </Button>
          </Explained>
        ),
    },
  ];
}

const degrees = (celsius: number) => `${Math.round(celsius)} °C`;

const temperatureColumns: readonly Column<Temperature>[] = [
  {
    title: 'Where',
    cell: ({ disk, title }) =>
      disk === null ? title : <Link to={`/storage/disks/${encodeURIComponent(disk)}`}>{title}</Link>,
  },
  {
    title: 'Now',
    cell: ({ state, celsius }) => (
      <span>
        <ConditionIcon state={state} /> {degrees(celsius)}
      </span>
    ),
  },
  {
    title: 'Alert from',
    cell: ({ warning, critical }) =>
      `${degrees(warning)}${critical === null ? '' : `, critical from ${degrees(critical)}`}`,
  },
];

export function Machine() {
  const linkColumns = useLinkColumns();
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
        <ListTable label="Network links" columns={linkColumns} rows={links} keyOf={({ name }) => name} />
      )}
      {temperatures.length === 0 ? (
        <p>This machine has no temperature sensor that can be read; virtual machines have none.</p>
      ) : (
        <ListTable label="Temperatures" columns={temperatureColumns} rows={temperatures} keyOf={({ id }) => id} />
      )}
    </div>
  );
}
