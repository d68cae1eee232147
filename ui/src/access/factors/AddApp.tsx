// Adding an authenticator app: a name, the QR code, and a code that shows that the app has it.
import { ClipboardCopy } from '@patternfly/react-core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { QrCode } from './QrCode.tsx';

type Started = Schemas['StartedFactor'];
type Finished = Schemas['FinishedFactor'];

/** As it is typed into an app that cannot scan. */
const inGroups = (secret: string) => secret.match(/.{1,4}/g)?.join(' ') ?? secret;

function Name({ onStarted, cancel }: { onStarted: (started: Started) => void; cancel?: (() => void) | undefined }) {
  const [name, setName] = useState('');
  const start = useMutation({
    mutationFn: () => answerOf(client.POST('/api/factors/start', { body: { name: name.trim() } })),
    onSuccess: onStarted,
  });
  const problem = start.error ? asProblem(start.error) : null;
  return (
    <FormShell
      submit="Show the QR code"
      onSubmit={() => start.mutate()}
      busy={start.isPending}
      error={start.error}
      fields={['/name']}
      mayNot={name.trim() === '' ? 'Enter a name.' : null}
      {...(cancel && { cancel })}
    >
      <TextField
        label="What you call it"
        value={name}
        onChange={setName}
        help="As “phone”: you will know it by that when you have several."
        error={fieldMessage(problem, '/name')}
        autoComplete="off"
        autoFocus
        required
      />
    </FormShell>
  );
}

export function AddApp({ onAdded, cancel }: { onAdded: (finished: Finished) => void; cancel?: () => void }) {
  const [started, setStarted] = useState<Started | null>(null);
  const [code, setCode] = useState('');
  const finish = useMutation({
    mutationFn: ({ id }: Started) =>
      answerOf(client.POST('/api/factors/{id}/finish', { params: { path: { id } }, body: { code } })),
    onSuccess: onAdded,
  });
  if (started === null) return <Name onStarted={setStarted} cancel={cancel} />;
  const problem = finish.error ? asProblem(finish.error) : null;
  return (
    <FormShell
      submit="Add the app"
      onSubmit={() => finish.mutate(started)}
      busy={finish.isPending}
      error={finish.error}
      mayNot={code.trim() === '' ? 'Enter the code that the app shows.' : null}
      {...(cancel && { cancel })}
    >
      <p className="cistern-sentence">
        Scan this with an authenticator app, or type the key below it into the app. Then enter the code that it shows.
      </p>
      <QrCode text={started.url} label="QR code for the authenticator app" />
      <ClipboardCopy isReadOnly textAriaLabel="Key" hoverTip="Copy" clickTip="Copied">
        {inGroups(started.secret)}
      </ClipboardCopy>
      <TextField
        label="Code"
        value={code}
        onChange={setCode}
        help="Six digits. They change every half minute."
        error={fieldMessage(problem, '/code')}
        autoComplete="one-time-code"
        inputMode="numeric"
        autoFocus
        required
      />
    </FormShell>
  );
}
