// Sessions as a list: one's own, or those of all users.
import { Button } from '@patternfly/react-core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { sessionsQuery } from '../../api/queries.ts';
import { ConfirmDialog } from '../../forms/ConfirmDialog.tsx';
import { type Column, ListTable } from '../../shells/ListTable.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { Ago } from '../../words/Ago.tsx';
import { browserName } from './browserName.ts';

type Session = Schemas['ActiveSession'];

export function Sessions({ everyone }: { everyone: boolean }) {
  const list = useQuery(sessionsQuery(everyone));
  const queries = useQueryClient();
  const [ending, setEnding] = useState<Session | null>(null);
  if (list.data === undefined) return <Waiting on={list} />;
  const who: Column<Session>[] = everyone ? [{ title: 'User', cell: ({ user }) => user }] : [];
  const columns: Column<Session>[] = [
    ...who,
    {
      title: 'Browser or program',
      cell: ({ browser, own }) => `${browserName(browser)}${own ? ' (this one)' : ''}`,
    },
    { title: 'Address', cell: ({ address }) => address ?? 'unknown' },
    { title: 'Signed in', cell: ({ createdAt }) => <Ago time={createdAt} /> },
    { title: 'Last used', cell: ({ lastUsedAt }) => (lastUsedAt ? <Ago time={lastUsedAt} /> : 'never') },
    {
      title: 'Actions',
      control: 'actions',
      cell: (session) =>
        session.own ? null : (
          <Button
            variant="link"
            aria-label={`End the session of ${session.user} in ${browserName(session.browser)}`}
            onClick={() => setEnding(session)}
          >
            End
          </Button>
        ),
    },
  ];
  return (
    <>
      <ListTable label="Sessions" rows={list.data} keyOf={({ id }) => id} columns={columns} />
      {ending && (
        <ConfirmDialog
          title={`End the session of ${ending.user}?`}
          action="End the session"
          danger
          onClose={() => setEnding(null)}
          onConfirm={async () => {
            await answerOf(client.DELETE('/api/sessions/{id}', { params: { path: { id: ending.id } } }));
            await queries.invalidateQueries({ queryKey: ['users', 'sessions'] });
          }}
        >
          <p>
            {browserName(ending.browser)} at {ending.address ?? 'an unknown address'} has to sign in again.
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}
