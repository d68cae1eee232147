// Where the audit log is sent on as it is written, and how far it was received.
import { Button, Switch, TextArea, Title } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { TestExchange } from '../../alerting/destinations/TestExchange.tsx';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { useEdited } from '../../api/edits.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { Field, TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { Ago } from '../../words/Ago.tsx';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';
import { plural } from '../../words/format.ts';
import { auditForwardingQuery } from './queries.ts';

type State = Schemas['AuditForwarding'];
type Settings = Schemas['AuditForwardingInput'];

const settingsOf = ({ enabled, host, port }: State): Settings => ({ enabled, host, port });

function HowFar({ state }: { state: State }) {
  if (!state.enabled) return null;
  const { error, waiting, receivedAt, receivedUntil, missed } = state;
  return (
    <p>
      <ConditionIcon state={error === null ? 'ok' : 'warning'} />{' '}
      {receivedAt === null ? (
        'Nothing was received yet.'
      ) : (
        <>
          Received up to entry {receivedUntil}, <Ago time={receivedAt} />.
        </>
      )}{' '}
      {waiting > 0 && `${plural(waiting, 'entry waits', 'entries wait')}. `}
      {missed > 0 && `${plural(missed, 'entry was', 'entries were')} dropped as old before they could be sent. `}
      {error !== null && `The last try failed: ${error}.`}
    </p>
  );
}

function Form({ state }: { state: State }) {
  const [changed, setChanged] = useState<Settings | null>(null);
  const queries = useQueryClient();
  const settings = changed ?? settingsOf(state);
  const set = (change: Partial<Settings>) => setChanged({ ...settings, ...change });
  const edited = useEdited({
    now: state,
    read: () => queries.fetchQuery({ ...auditForwardingQuery, staleTime: 0 }),
    onLoad: () => setChanged(null),
    editing: changed !== null,
  });
  const save = useMutation({
    mutationFn: (sent: Settings) =>
      edited.guard(answerOf(client.PUT('/api/audit-forwarding', { params: { header: edited.header }, body: sent }))),
    onSuccess: async (now, sent) => {
      await queries.invalidateQueries({ queryKey: ['audit'] });
      edited.saved(now);
      // What was typed since it was sent is kept.
      setChanged((mine) => (mine === sent ? null : mine));
    },
  });
  const test = useMutation({
    mutationFn: () => answerOf(client.POST('/api/audit-forwarding/test', { body: settings })),
  });
  const failed = save.error ?? test.error;
  const problem = failed ? asProblem(failed) : null;
  const { authority } = state;
  return (
    <FormShell
      submit="Save where it is sent"
      onSubmit={() => save.mutate(settings)}
      busy={save.isPending}
      error={failed}
      fields={['/host', '/port', '/ca']}
      more={
        <Button variant="secondary" isLoading={test.isPending} onClick={() => test.mutate()}>
          Test it
        </Button>
      }
    >
      <Switch
        label="Send each entry on as it is written"
        isChecked={settings.enabled}
        onChange={(_event, enabled) => set({ enabled })}
      />
      <div className="cistern-pair">
        <TextField
          label="Receiver"
          value={settings.host}
          onChange={(host) => set({ host })}
          placeholder="logs.example.org"
          error={fieldMessage(problem, '/host')}
        />
        <TextField
          label="Port"
          type="number"
          value={String(settings.port)}
          onChange={(port) => set({ port: Number(port) })}
          error={fieldMessage(problem, '/port')}
        />
      </div>
      <Field
        label="Certificate authority"
        error={fieldMessage(problem, '/ca')}
        help={
          authority
            ? `${authority.subject}, until ${authority.expiresAt.slice(0, 10)}. Paste another one to change it.`
            : 'As PEM, when the receiver’s certificate was signed by an authority of your own. Empty: those of the operating system.'
        }
      >
        {(id, described) => (
          <div>
            <TextArea
              id={id}
              aria-describedby={described}
              rows={settings.ca ? 6 : 2}
              resizeOrientation="vertical"
              placeholder="-----BEGIN CERTIFICATE-----"
              spellCheck={false}
              value={settings.ca ?? ''}
              onChange={(_event, ca) => set({ ca })}
            />
            {authority && (
              <Button variant="link" isInline onClick={() => set({ ca: '' })}>
                {settings.ca === ''
                  ? 'Those of the operating system are believed once it is saved'
                  : 'Believe those of the operating system instead'}
              </Button>
            )}
          </div>
        )}
      </Field>
      {test.data && <TestExchange result={test.data} />}
    </FormShell>
  );
}

export function Forwarding() {
  const { data, ...reading } = useQuery(auditForwardingQuery);
  return (
    <section aria-label="Where it is sent">
      <Title headingLevel="h2" size="lg">
        Where it is sent
      </Title>
      <p>By syslog over TLS (RFC 5424, 5425), so that a copy is where nobody on this appliance can change it.</p>
      {data === undefined ? (
        <Waiting on={reading} />
      ) : (
        <>
          <HowFar state={data} />
          <Form state={data} />
        </>
      )}
    </section>
  );
}
