// The systems that this machine can start: which one runs, and which one starts next time.
import { Button } from '@patternfly/react-core';
import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { useMayNot } from '../../api/session.ts';
import { Confirm } from '../../forms/Confirm.tsx';
import { Explained } from '../../forms/Explained.tsx';
import { type Column, ListTable } from '../../shells/ListTable.tsx';
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

const columns: readonly Column<System>[] = [
  { title: 'System', cell: ({ name }) => name },
  {
    title: 'Running',
    cell: ({ running }) => (
      <span>
        {running && <ConditionIcon state="ok" />} {running ? 'yes' : 'no'}
      </span>
    ),
  },
  { title: 'Starts next', cell: (system) => starts[system.starts] },
  { title: 'Version', cell: ({ version }) => version ?? unknown },
  {
    title: 'Size',
    cell: ({ bytes: size }) => (size === null ? unknown : <span title={exactBytes(size)}>{bytes(size)}</span>),
  },
  { title: 'Created', cell: ({ createdAt }) => (createdAt === null ? unknown : <Ago time={createdAt} />) },
];

function StartNext({ system: { name, starts, obstacle }, onChoose }: { system: System; onChoose: () => void }) {
  const mayNot = useMayNot('administrator');
  const why = mayNot ?? obstacle;
  if (starts === 'next') return null;
  return (
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
      <ListTable
        label="Installed systems"
        columns={[
          ...columns,
          {
            title: 'Actions',
            cell: (system) => <StartNext system={system} onChoose={() => setChoosing(system)} />,
            control: 'actions',
          },
        ]}
        rows={data}
        keyOf={({ name }) => name}
      />
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
