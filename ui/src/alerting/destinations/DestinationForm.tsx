// Where alerts go, with a test that shows every line that was exchanged. For the wizard and the alerts page alike.
import { Button, Radio } from '@patternfly/react-core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { answerOf, client } from '../../api/client.ts';
import { keepTyped, useEdited } from '../../api/edits.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { Explained } from '../../forms/Explained.tsx';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import {
  type Destination,
  type DestinationDraft,
  defaultPort,
  draftOfDestination,
  inputOfDestination,
  newDestination,
} from './destination.ts';
import { EmailFields } from './EmailFields.tsx';
import { SnmpFields } from './SnmpFields.tsx';
import { SyslogFields } from './SyslogFields.tsx';
import { TestExchange } from './TestExchange.tsx';
import { WebhookFields } from './WebhookFields.tsx';

const kinds: readonly [Destination['kind'], string][] = [
  ['email', 'Email'],
  ['snmp', 'SNMP trap'],
  ['webhook', 'Webhook'],
  ['syslog', 'Syslog'],
];

/** What is not there yet, in words; the appliance looks at the rest. */
function missingOf(draft: DestinationDraft, existing: Destination | undefined): string | null {
  if (draft.kind === 'webhook') {
    return draft.url.trim() === '' && existing === undefined ? 'Enter the address first.' : null;
  }
  if (draft.host.trim() === '') return 'Enter the host first.';
  if (draft.kind !== 'email') return null;
  if (draft.to.trim() === '') return 'Enter at least one recipient first.';
  return draft.from.trim() === '' ? 'Enter the sender first.' : null;
}

export function DestinationForm(props: {
  existing?: Destination | undefined;
  submit: string;
  onSaved: () => void;
  mayNot?: string | null;
  cancel?: () => void;
  more?: ReactNode;
}) {
  const { existing, mayNot = null } = props;
  const [draft, setDraft] = useState<DestinationDraft>(() =>
    existing ? draftOfDestination(existing) : newDestination('email'),
  );
  const queries = useQueryClient();
  const set = (change: Partial<DestinationDraft>) => setDraft((now) => ({ ...now, ...change }));
  const input = inputOfDestination(draft);
  const path = { id: existing?.id ?? '' };
  const edit = useEdited({
    now: existing,
    read: () => answerOf(client.GET('/api/destinations/{id}', { params: { path } })),
    onLoad: (current, before) =>
      setDraft((mine) => keepTyped(mine, draftOfDestination(before), draftOfDestination(current))),
  });
  const test = useMutation({
    mutationFn: () =>
      answerOf(client.POST('/api/destinations/test', { body: { ...input, ...(existing && { id: existing.id }) } })),
  });
  const save = useMutation({
    mutationFn: () =>
      existing === undefined
        ? answerOf(client.POST('/api/destinations', { body: input }))
        : edit.guard(
            answerOf(client.PUT('/api/destinations/{id}', { params: { path, header: edit.header }, body: input })),
          ),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['destinations'] });
      props.onSaved();
    },
  });
  const failure = save.error ?? test.error;
  const problem = failure ? asProblem(failure) : null;
  const at = (path: string) => fieldMessage(problem, `/${draft.kind}/${path}`);
  const email = draft.kind === 'email';
  const fields = { draft, set, at, existing };
  const missing = missingOf(draft, existing);
  return (
    <FormShell
      submit={props.submit}
      onSubmit={() => save.mutate()}
      busy={save.isPending}
      error={failure}
      fields={[
        'host',
        'port',
        'user',
        'password',
        'from',
        'to',
        'tokenUrl',
        'clientId',
        'clientSecret',
        'refreshToken',
        'community',
        'authPassword',
        'privPassword',
        'url',
        'secret',
        'ca',
      ].map((name) => `/${draft.kind}/${name}`)}
      mayNot={mayNot ?? missing}
      {...(props.cancel && { cancel: props.cancel })}
      more={
        <>
          <Explained why={mayNot ?? missing}>
            <Button
              variant="secondary"
              isLoading={test.isPending}
              isAriaDisabled={mayNot !== null || missing !== null || test.isPending}
              onClick={() => test.mutate()}
            >
              Send a test
            </Button>
          </Explained>
          {props.more}
        </>
      }
    >
      {existing === undefined && (
        <fieldset className="cistern-choices cistern-row">
          <legend>How</legend>
          {kinds.map(([kind, label]) => (
            <Radio
              key={kind}
              id={`kind-${kind}`}
              name="kind"
              label={label}
              isChecked={draft.kind === kind}
              onChange={() => set({ kind })}
            />
          ))}
        </fieldset>
      )}
      {draft.kind !== 'webhook' && (
        <div className="cistern-pair">
          <TextField
            label={email ? 'Mail server' : draft.kind === 'syslog' ? 'Syslog server' : 'Receiver'}
            value={draft.host}
            onChange={(host) => set({ host })}
            placeholder={email ? 'mail.example.com' : draft.kind === 'syslog' ? 'logs.example.com' : 'nms.example.com'}
            error={at('host')}
            autoComplete="off"
            required
          />
          <TextField
            label="Port"
            value={draft.port}
            onChange={(port) => set({ port })}
            placeholder={String(defaultPort(draft))}
            inputMode="numeric"
            error={at('port')}
            autoComplete="off"
          />
        </div>
      )}
      {draft.kind === 'email' && <EmailFields {...fields} />}
      {draft.kind === 'webhook' && <WebhookFields {...fields} />}
      {draft.kind === 'syslog' && <SyslogFields {...fields} />}
      {draft.kind === 'snmp' && <SnmpFields {...fields} />}
      <TextField
        label="Name"
        value={draft.name}
        onChange={(name) => set({ name })}
        placeholder={input.name}
        error={fieldMessage(problem, '/name')}
        autoComplete="off"
      />
      {test.data && <TestExchange result={test.data} />}
    </FormShell>
  );
}
