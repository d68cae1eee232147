// The systems that this machine can start: which one runs, and which one starts next time.
import { Button } from '@patternfly/react-core';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table';
import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { useMayNot } from '../../api/session.ts';
import { Confirm } from '../../forms/Confirm.tsx';
import { Explained } from '../../forms/Explained.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { Ago } from '../../words/Ago.tsx';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';
import { bytes, exactBytes } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';

type System = Schemas['BootEnvironment'];

const systemsQuery = queryOptions({
  queryKey: ['systems'],
  queryFn: async ({ signal }) => (await answerOf(client.GET('/api/boot-environments', { signal }))).items,
});

const starts: Record<System['starts'], string> = {
  next: 'yes',
  once: 'yes, once',
  later: 'not next time, but after it',
  no: 'no',
};

const unknown = <span className="cistern-quiet">unknown</span>;

function SystemRow({ system, onChoose }: { system: System; onChoose: () => void }) {
  const { name, running, version, bytes: size, createdAt, obstacle } = system;
  const mayNot = useMayNot('administrator');
  const why = mayNot ?? obstacle;
  return (
    <Tr>
      <Td dataLabel="System">{name}</Td>
      <Td dataLabel="Running">
        <span>
          {running && <ConditionIcon state="ok" />} {running ? 'yes' : 'no'}
        </span>
      </Td>
      <Td dataLabel="Starts next">{starts[system.starts]}</Td>
      <Td dataLabel="Version">{version ?? unknown}</Td>
      <Td dataLabel="Size">{size === null ? unknown : <span title={exactBytes(size)}>{bytes(size)}</span>}</Td>
      <Td dataLabel="Created">{createdAt === null ? unknown : <Ago time={createdAt} />}</Td>
      <Td isActionCell>
        {system.starts !== 'next' && (
          <Explained why={why}>
            <Button
              variant="link"
              isAriaDisabled={why !== null}
              onClick={onChoose}
              aria-label={`Start next time: the system ${name}`}
            >
              Start next time
            </Button>
          </Explained>
        )}
      </Td>
    </Tr>
  );
}

export function Systems() {
  const queries = useQueryClient();
  const [choosing, setChoosing] = useState<System | null>(null);
  const { data, error, refetch } = useQuery(systemsQuery);
  if (data === undefined) return <Waiting on={{ error, refetch }} />;
  const choose = async ({ name }: System) => {
    const path = { params: { path: { name } } };
    const { items } = await answerOf(client.POST('/api/boot-environments/{name}/activate', path));
    // A list that was asked for before says what was.
    await queries.cancelQueries({ queryKey: systemsQuery.queryKey });
    queries.setQueryData(systemsQuery.queryKey, items);
  };
  return (
    <>
      {error && <ProblemAlert error={error} retry={() => void refetch()} stale />}
      <Table aria-label="Installed systems" variant="compact" gridBreakPoint="grid-md">
        <Thead>
          <Tr>
            <Th>System</Th>
            <Th>Running</Th>
            <Th>Starts next</Th>
            <Th>Version</Th>
            <Th>Size</Th>
            <Th>Created</Th>
            <Th screenReaderText="Actions" />
          </Tr>
        </Thead>
        <Tbody>
          {data.map((system) => (
            <SystemRow key={system.name} system={system} onChoose={() => setChoosing(system)} />
          ))}
        </Tbody>
      </Table>
      {choosing && (
        <Confirm
          title={`Start the system ${choosing.name} next time?`}
          action="Start it next time"
          onConfirm={() => choose(choosing)}
          onClose={() => setChoosing(null)}
        >
          <p>
            Nothing is restarted now. When this machine starts again, it starts the system {choosing.name}
            {choosing.version === null ? '' : `, with Cistern ${choosing.version}`}, and goes on doing so.
          </p>
          <p>Pools, measurements and settings stay; an older Cistern may not know settings of a newer one.</p>
        </Confirm>
      )}
    </>
  );
}
