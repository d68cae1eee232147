// Adding a passkey: a name, and the browser asks for the rest.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { addPasskey } from './passkeys.ts';

export function AddPasskey(props: { onAdded: (finished: Schemas['FinishedFactor']) => void; cancel: () => void }) {
  const [name, setName] = useState('');
  const add = useMutation({ mutationFn: () => addPasskey(name.trim()), onSuccess: props.onAdded });
  const problem = add.error ? asProblem(add.error) : null;
  return (
    <FormShell
      submit="Add the passkey"
      onSubmit={() => add.mutate()}
      busy={add.isPending}
      error={add.error}
      fields={['/name']}
      mayNot={name.trim() === '' ? 'Enter a name.' : null}
      cancel={props.cancel}
    >
      <p className="cistern-sentence">
        The browser asks where to keep it, as in this device, in a phone or on a stick. You sign in with it then under{' '}
        <strong>{window.location.hostname}</strong>, without a password.
      </p>
      <TextField
        label="What you call it"
        value={name}
        onChange={setName}
        help="As “laptop”: you will know it by that when you have several."
        error={fieldMessage(problem, '/name')}
        autoComplete="off"
        autoFocus
        required
      />
    </FormShell>
  );
}
