// What can be done about a new sender: name it, look at it, refuse it.
import { Button } from '@patternfly/react-core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { inputsQuery } from '../../api/queries.ts';
import { useMayNot } from '../../api/session.ts';
import { Confirm } from '../../forms/Confirm.tsx';
import { ConfirmDialog } from '../../forms/ConfirmDialog.tsx';
import { Explained } from '../../forms/Explained.tsx';
import { TextField } from '../../forms/Field.tsx';

type NewSender = Schemas['NewSender'];

function NameIt({ sender, onClose, onDone }: { sender: NewSender; onClose: () => void; onDone: () => Promise<void> }) {
  const { address, input } = sender;
  const [name, setName] = useState(sender.hostName ?? '');
  return (
    <ConfirmDialog
      title={`Name ${address}`}
      action="Name it"
      mayNot={name.trim() === '' ? 'Enter a name.' : null}
      onClose={onClose}
      onConfirm={async () => {
        const body = { address, hostName: name.trim() };
        await answerOf(client.POST('/api/inputs/{name}/name-sender', { params: { path: { name: input } }, body }));
        await onDone();
      }}
    >
      {(confirm) => (
        <form
          className="cistern-form"
          onSubmit={(event) => {
            event.preventDefault();
            confirm();
          }}
        >
          <TextField
            label="Name"
            value={name}
            onChange={setName}
            help={`What it sends by ${input} without naming a host gets this as the label host, from now on. Series that were there keep their labels.`}
            autoComplete="off"
            autoFocus
            required
          />
        </form>
      )}
    </ConfirmDialog>
  );
}

export function SenderActions({ sender }: { sender: NewSender }) {
  const { address, input, hostName } = sender;
  const [doing, setDoing] = useState<'name' | 'refuse' | null>(null);
  const mayNot = useMayNot('administrator');
  const queries = useQueryClient();
  const done = () => queries.invalidateQueries({ queryKey: inputsQuery.queryKey });
  const close = () => setDoing(null);
  const at =
    hostName === null
      ? '/settings/inputs#input-senders'
      : `/analytics/explore?${new URLSearchParams({ 'f.host': hostName })}`;
  const action = (what: 'name' | 'refuse', text: string) => (
    <Explained why={mayNot}>
      <Button
        variant="link"
        isInline
        isAriaDisabled={mayNot !== null}
        aria-label={`${text}: ${address} by ${input}`}
        onClick={() => setDoing(what)}
      >
        {text}
      </Button>
    </Explained>
  );
  return (
    <>
      {sender.canBeNamed && action('name', 'Name it')}
      <Link to={at} aria-label={`Look at it: ${address} by ${input}`}>
        Look at it
      </Link>
      {action('refuse', 'Refuse it')}
      {doing === 'name' && <NameIt sender={sender} onClose={close} onDone={done} />}
      {doing === 'refuse' && (
        <Confirm
          title={`Refuse ${address}?`}
          action="Refuse it"
          danger
          onClose={close}
          onConfirm={async () => {
            const params = { path: { name: input } };
            await answerOf(client.POST('/api/inputs/{name}/refuse-sender', { params, body: { address } }));
            await done();
          }}
        >
          <p>
            Nothing that it sends by {input} is taken from now on; it is counted as refused. What came stays. Settings →
            Inputs takes it back.
          </p>
        </Confirm>
      )}
    </>
  );
}
