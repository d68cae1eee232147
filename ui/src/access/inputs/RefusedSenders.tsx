// Who is refused by an input, one by one; and the way back.
import { Button, Title } from '@patternfly/react-core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { inputsQuery } from '../../api/queries.ts';
import { ListTable } from '../../shells/ListTable.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { wayTitle } from './ways.ts';

export function RefusedSenders({ inputs }: { inputs: readonly Schemas['Input'][] }) {
  const queries = useQueryClient();
  const takeBack = useMutation({
    mutationFn: ({ name, address }: { name: string; address: string }) =>
      answerOf(client.POST('/api/inputs/{name}/withdraw-refusal', { params: { path: { name } }, body: { address } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: inputsQuery.queryKey }),
  });
  const rows = inputs.flatMap(({ name, refusedSenders }) => refusedSenders.map((address) => ({ name, address })));
  if (rows.length === 0) return null;
  return (
    <section aria-labelledby="input-refused">
      <Title headingLevel="h2" size="lg" id="input-refused">
        Refused senders
      </Title>
      <ProblemAlert error={takeBack.error} />
      <ListTable
        label="Refused senders"
        rows={rows}
        keyOf={({ name, address }) => `${name} ${address}`}
        columns={[
          { title: 'Address', cell: ({ address }) => address },
          { title: 'Input', cell: ({ name }) => wayTitle(name) },
          {
            title: 'Actions',
            control: 'actions',
            cell: (row) => (
              <Button
                variant="link"
                aria-label={`Take it again: ${row.address} by ${wayTitle(row.name)}`}
                onClick={() => takeBack.mutate(row)}
              >
                Take it again
              </Button>
            ),
          },
        ]}
      />
    </section>
  );
}
