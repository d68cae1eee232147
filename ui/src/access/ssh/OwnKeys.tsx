// One's own keys for ssh, and whether one can come in by them now.
import { Button, TextArea } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { use, useState } from 'react';
import { answerOf, client } from '../../api/client.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { SessionContext } from '../../api/session.ts';
import { Field } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { HowTo } from './HowTo.tsx';
import { KeyList } from './KeyList.tsx';
import { accessQuery } from './queries.ts';
import { whenWords } from './words.ts';

function NewKey({ onDone }: { onDone: () => void }) {
  const [key, setKey] = useState('');
  const queries = useQueryClient();
  const add = useMutation({
    mutationFn: () => answerOf(client.POST('/api/ssh-keys', { body: { key } })),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['ssh'] });
      onDone();
    },
  });
  const problem = add.error ? asProblem(add.error) : null;
  return (
    <FormShell
      submit="Add the key"
      onSubmit={() => add.mutate()}
      busy={add.isPending}
      error={add.error}
      fields={['/key']}
      mayNot={key.trim() === '' ? 'Paste a key.' : null}
      cancel={onDone}
    >
      <Field
        label="Public key"
        help="The line of a .pub file, as ~/.ssh/id_ed25519.pub. “ssh-keygen -t ed25519” makes a pair; the other file of it stays where it is."
        error={fieldMessage(problem, '/key')}
        required
      >
        {(id, described, complaint) => (
          <TextArea
            id={id}
            aria-describedby={described}
            rows={4}
            resizeOrientation="vertical"
            placeholder="ssh-ed25519 AAAA… ada@laptop"
            spellCheck={false}
            value={key}
            validated={complaint ? 'error' : 'default'}
            onChange={(_event, text) => setKey(text)}
          />
        )}
      </Field>
    </FormShell>
  );
}

export function OwnKeys() {
  const { role } = use(SessionContext);
  const access = useQuery(accessQuery);
  const [adding, setAdding] = useState(false);
  if (access.data === undefined) return <Waiting on={access} />;
  const { available, enabledUntil } = access.data;
  if (!available) return <p>Users of the appliance cannot come in by ssh on this system.</p>;
  if (role === 'viewer') return <p>Viewers cannot come in by ssh; operators and administrators can.</p>;
  return (
    <div className="cistern-stack">
      <p>
        {enabledUntil === null
          ? 'ssh is off; an administrator switches it on for a time.'
          : `ssh is on until ${whenWords(enabledUntil)}.`}{' '}
        What you do by it is in the audit log.
      </p>
      {enabledUntil !== null && <HowTo access={access.data} />}
      <KeyList everyone={false} />
      {adding ? (
        <NewKey onDone={() => setAdding(false)} />
      ) : (
        <div>
          <Button variant="secondary" onClick={() => setAdding(true)}>
            Add a key
          </Button>
        </div>
      )}
    </div>
  );
}
