// Keys for ssh as a list: one's own, or those of all users.
import { Button, Label } from '@patternfly/react-core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { ConfirmDialog } from '../../forms/ConfirmDialog.tsx';
import { type Column, ListTable } from '../../shells/ListTable.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { Ago } from '../../words/Ago.tsx';
import { keysQuery } from './queries.ts';

type Key = Schemas['SshKey'];

/** Why it is of no use now. */
const obstacles: Readonly<Record<NonNullable<Key['obstacle']>, string>> = {
  disabled: 'the user is disabled',
  password: 'the password has to be changed first',
  provider: 'has to sign in at the page again',
  role: 'viewers do not come in',
  'second-factor': 'a second factor is needed first',
};
const nameOf = ({ comment, fingerprint }: Key) => comment || fingerprint;

export function KeyList({ everyone }: { everyone: boolean }) {
  const keys = useQuery(keysQuery(everyone));
  const queries = useQueryClient();
  const [removing, setRemoving] = useState<Key | null>(null);
  if (keys.data === undefined) return <Waiting on={keys} />;
  if (keys.data.length === 0) {
    return <p>{everyone ? 'Nobody has a key yet. Users add their own in their profile.' : 'You have none.'}</p>;
  }
  const who: Column<Key>[] = everyone ? [{ title: 'User', cell: ({ user }) => user }] : [];
  const columns: Column<Key>[] = [
    ...who,
    {
      title: 'Key',
      modifier: 'breakWord',
      cell: (key) => (
        <span>
          {key.comment || key.kind} {key.obstacle !== null && <Label color="orange">{obstacles[key.obstacle]}</Label>}
        </span>
      ),
    },
    { title: 'Fingerprint', modifier: 'breakWord', cell: ({ fingerprint }) => <code>{fingerprint}</code> },
    { title: 'Added', head: { modifier: 'nowrap' }, cell: ({ addedAt }) => <Ago time={addedAt} /> },
    { title: 'Last used', head: { modifier: 'nowrap' }, cell: ({ lastUsedAt }) => <Ago time={lastUsedAt} /> },
    {
      title: 'Actions',
      control: 'actions',
      cell: (key) => (
        <Button
          variant="link"
          aria-label={`Remove the key ${nameOf(key)} of ${key.user}`}
          onClick={() => setRemoving(key)}
        >
          Remove
        </Button>
      ),
    },
  ];
  return (
    <>
      <ListTable label="Keys for ssh" rows={keys.data} keyOf={({ id }) => id} columns={columns} />
      {removing && (
        <ConfirmDialog
          title={`Remove the key ${nameOf(removing)}?`}
          action="Remove the key"
          danger
          onClose={() => setRemoving(null)}
          onConfirm={async () => {
            await answerOf(client.DELETE('/api/ssh-keys/{id}', { params: { path: { id: removing.id } } }));
            await queries.invalidateQueries({ queryKey: ['ssh'] });
          }}
        >
          <p>{removing.user} no longer comes in by it. If ssh is on, all sessions by ssh end.</p>
        </ConfirmDialog>
      )}
    </>
  );
}
