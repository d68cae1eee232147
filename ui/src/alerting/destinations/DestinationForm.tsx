// Where alerts go, with a test that shows every line that was exchanged. For the wizard and the alerts page alike.
import { Button, Checkbox, FormSelect, FormSelectOption, Radio, TextArea } from '@patternfly/react-core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { asProblem, Failure, fieldMessage } from '../../api/problem.ts';
import { Explained } from '../../forms/Explained.tsx';
import { Field, TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import {
  type Destination,
  type DestinationDraft,
  defaultPort,
  draftOfDestination,
  inputOfDestination,
  newDestination,
} from './destination.ts';

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

function Exchange({ result }: { result: Schemas['TestResult'] }) {
  return (
    <section aria-label="Result of the test" aria-live="polite">
      <p className="cistern-sentence">
        <ConditionIcon state={result.ok ? 'ok' : 'critical'} />{' '}
        {result.ok ? 'The test message was accepted.' : 'The test message was not accepted.'}
      </p>
      {result.problem && <ProblemAlert error={new Failure(result.problem)} />}
      {result.exchange.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
        <pre className="cistern-exchange" role="log" tabIndex={0} aria-label="What was exchanged">
          {result.exchange.map((line, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a transcript only grows
            <span key={index} data-direction={line.direction}>{`${line.direction} ${line.text}\n`}</span>
          ))}
        </pre>
      )}
    </section>
  );
}

export function DestinationForm(props: {
  existing?: Destination | undefined;
  submit: string;
  onSaved: () => void;
  mayNot?: string | null;
  more?: ReactNode;
}) {
  const { existing, mayNot = null } = props;
  const [draft, setDraft] = useState<DestinationDraft>(() =>
    existing ? draftOfDestination(existing) : newDestination('email'),
  );
  const queries = useQueryClient();
  const set = (change: Partial<DestinationDraft>) => setDraft((now) => ({ ...now, ...change }));
  const input = inputOfDestination(draft);
  const test = useMutation({
    mutationFn: () =>
      answerOf(client.POST('/api/destinations/test', { body: { ...input, ...(existing && { id: existing.id }) } })),
  });
  const save = useMutation({
    mutationFn: () =>
      existing === undefined
        ? answerOf(client.POST('/api/destinations', { body: input }))
        : answerOf(client.PUT('/api/destinations/{id}', { params: { path: { id: existing.id } }, body: input })),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['destinations'] });
      props.onSaved();
    },
  });
  const failure = save.error ?? test.error;
  const problem = failure ? asProblem(failure) : null;
  const at = (path: string) => fieldMessage(problem, `/${draft.kind}/${path}`);
  const email = draft.kind === 'email';
  const missing = missingOf(draft, existing);
  const stored = (set_: boolean | undefined) => (set_ ? 'One is stored; leave this empty to keep it.' : undefined);
  const known = (existing?.email ?? existing?.webhook ?? existing?.syslog)?.authority;
  const verify = (
    <>
      <Checkbox
        id="verify"
        label="Verify the server's certificate"
        description="Switch this off only when nothing else helps: anybody could read what is sent."
        isChecked={draft.verifyCertificate}
        onChange={(_event, verifyCertificate) => set({ verifyCertificate })}
      />
      {draft.verifyCertificate && (
        <Field
          label="Certificate authority"
          error={at('ca')}
          help={
            known
              ? `${known.subject}, until ${known.expiresAt.slice(0, 10)}. Paste another one to change it.`
              : 'Only for a server whose certificate was signed by an authority of your own: its certificate, as PEM.'
          }
        >
          {(id, described) => (
            <div>
              <TextArea
                id={id}
                aria-describedby={described}
                rows={draft.ca ? 6 : 2}
                resizeOrientation="vertical"
                placeholder="-----BEGIN CERTIFICATE-----"
                spellCheck={false}
                value={draft.ca ?? ''}
                validated={at('ca') ? 'error' : 'default'}
                onChange={(_event, ca) => set({ ca: ca === '' ? null : ca })}
              />
              {known && (
                <Checkbox
                  id="forget-ca"
                  label="Believe those that the operating system knows instead"
                  isChecked={draft.ca === ''}
                  onChange={(_event, on) => set({ ca: on ? '' : null })}
                />
              )}
            </div>
          )}
        </Field>
      )}
    </>
  );
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
      {email ? (
        <>
          <Field label="Encryption">
            {(id) => (
              <FormSelect
                id={id}
                value={draft.security}
                onChange={(_event, value) => set({ security: value as DestinationDraft['security'] })}
              >
                <FormSelectOption value="starttls" label="STARTTLS (usual on port 587)" />
                <FormSelectOption value="tls" label="TLS from the start (usual on port 465)" />
                <FormSelectOption value="none" label="none" />
              </FormSelect>
            )}
          </Field>
          {draft.security !== 'none' && verify}
          <TextField
            label="From"
            type="email"
            value={draft.from}
            onChange={(from) => set({ from })}
            placeholder="cistern@example.com"
            error={at('from')}
            autoComplete="off"
            required
          />
          <TextField
            label="To"
            value={draft.to}
            onChange={(to) => set({ to })}
            placeholder="oncall@example.com, team@example.com"
            error={at('to') ?? at('to/0')}
            autoComplete="off"
            required
          />
          <div className="cistern-pair">
            <TextField
              label="User"
              help="Only if the server asks for one."
              value={draft.user}
              onChange={(user) => set({ user })}
              error={at('user')}
              autoComplete="off"
            />
            {draft.login !== 'xoauth2' && (
              <TextField
                label="Password"
                type="password"
                help={stored(existing?.email?.passwordSet)}
                value={draft.password}
                onChange={(password) => set({ password })}
                error={at('password')}
                autoComplete="new-password"
              />
            )}
          </div>
          <Field label="Sign in by">
            {(id) => (
              <FormSelect
                id={id}
                value={draft.login}
                onChange={(_event, value) => set({ login: value as DestinationDraft['login'] })}
              >
                <FormSelectOption value="password" label="user and password" />
                <FormSelectOption value="cram-md5" label="CRAM-MD5 (the password is not sent)" />
                <FormSelectOption value="xoauth2" label="OAuth 2.0 (XOAUTH2)" />
              </FormSelect>
            )}
          </Field>
          {draft.login === 'xoauth2' && (
            <>
              <TextField
                label="Address for tokens"
                value={draft.tokenUrl}
                onChange={(tokenUrl) => set({ tokenUrl })}
                placeholder="https://login.example.com/oauth2/token"
                error={at('tokenUrl')}
                autoComplete="off"
                required
              />
              <TextField
                label="Client"
                value={draft.clientId}
                onChange={(clientId) => set({ clientId })}
                error={at('clientId')}
                autoComplete="off"
                required
              />
              <TextField
                label="Secret of the client"
                type="password"
                help={stored(existing?.email?.clientSecretSet) ?? 'When it has one.'}
                value={draft.clientSecret}
                onChange={(clientSecret) => set({ clientSecret })}
                error={at('clientSecret')}
                autoComplete="new-password"
              />
              <TextField
                label="Refresh token"
                type="password"
                help={stored(existing?.email?.refreshTokenSet)}
                value={draft.refreshToken}
                onChange={(refreshToken) => set({ refreshToken })}
                error={at('refreshToken')}
                autoComplete="new-password"
              />
            </>
          )}
        </>
      ) : draft.kind === 'webhook' ? (
        <>
          <Field label="Form">
            {(id) => (
              <FormSelect
                id={id}
                value={draft.preset}
                onChange={(_event, value) => set({ preset: value as DestinationDraft['preset'] })}
              >
                <FormSelectOption value="json" label="JSON, with everything" />
                <FormSelectOption value="slack" label="Slack (also Mattermost)" />
                <FormSelectOption value="pagerduty" label="PagerDuty (Events API v2)" />
              </FormSelect>
            )}
          </Field>
          <TextField
            label="Address"
            value={draft.url}
            onChange={(url) => set({ url })}
            placeholder={
              draft.preset === 'pagerduty' ? 'https://events.pagerduty.com/v2/enqueue' : 'https://hooks.example.com/…'
            }
            help={
              existing?.webhook
                ? `One at ${existing.webhook.host} is stored; leave this empty to keep it.`
                : 'It is kept like a password, since whoever knows it can post there.'
            }
            error={at('url')}
            autoComplete="off"
            required={existing === undefined}
          />
          {draft.preset !== 'slack' && (
            <TextField
              label={draft.preset === 'pagerduty' ? 'Integration key' : 'Secret'}
              type="password"
              help={
                stored(existing?.webhook?.secretSet) ??
                (draft.preset === 'json'
                  ? 'The receiver can tell by a signature (HMAC-SHA-256) that a message comes from here. Empty: none.'
                  : undefined)
              }
              value={draft.secret}
              onChange={(secret) => set({ secret })}
              error={at('secret')}
              autoComplete="new-password"
            />
          )}
          {verify}
        </>
      ) : draft.kind === 'syslog' ? (
        <>
          <Field label="Encryption">
            {(id) => (
              <FormSelect
                id={id}
                value={draft.transport}
                onChange={(_event, value) => set({ transport: value as DestinationDraft['transport'] })}
              >
                <FormSelectOption value="tls" label="TLS" />
                <FormSelectOption value="tcp" label="none (TCP)" />
              </FormSelect>
            )}
          </Field>
          {draft.transport === 'tls' && verify}
        </>
      ) : (
        <>
          <Field label="Version">
            {(id) => (
              <FormSelect
                id={id}
                value={draft.version}
                onChange={(_event, value) => set({ version: value as '2c' | '3' })}
              >
                <FormSelectOption value="2c" label="SNMPv2c" />
                <FormSelectOption value="3" label="SNMPv3, authenticated and encrypted" />
              </FormSelect>
            )}
          </Field>
          {draft.version === '2c' ? (
            <TextField
              label="Community"
              type="password"
              help={stored(existing?.snmp?.communitySet)}
              value={draft.community}
              onChange={(community) => set({ community })}
              error={at('community')}
              autoComplete="new-password"
            />
          ) : (
            <>
              <TextField
                label="User"
                value={draft.snmpUser}
                onChange={(snmpUser) => set({ snmpUser })}
                error={at('user')}
                autoComplete="off"
              />
              <Field label="Authentication">
                {(id) => (
                  <FormSelect
                    id={id}
                    value={draft.authProtocol}
                    onChange={(_event, value) => set({ authProtocol: value as DestinationDraft['authProtocol'] })}
                  >
                    {['SHA', 'SHA-256', 'SHA-512'].map((name) => (
                      <FormSelectOption key={name} value={name} label={name} />
                    ))}
                  </FormSelect>
                )}
              </Field>
              <div className="cistern-pair">
                <TextField
                  label="Authentication password"
                  type="password"
                  help={stored(existing?.snmp?.authPasswordSet)}
                  value={draft.authPassword}
                  onChange={(authPassword) => set({ authPassword })}
                  error={at('authPassword')}
                  autoComplete="new-password"
                />
                <TextField
                  label="Privacy password (AES)"
                  type="password"
                  help={stored(existing?.snmp?.privPasswordSet)}
                  value={draft.privPassword}
                  onChange={(privPassword) => set({ privPassword })}
                  error={at('privPassword')}
                  autoComplete="new-password"
                />
              </div>
            </>
          )}
          {draft.version === '3' && existing?.snmp && (
            <p className="cistern-quiet">
              The receiver must know this appliance by its engine ID: <code>{existing.snmp.engineId}</code>
            </p>
          )}
          <Checkbox
            id="inform"
            label="Ask for a receipt (inform)"
            description="A trap is sent once and may be lost; an inform is repeated until the receiver answers."
            isChecked={draft.inform}
            onChange={(_event, inform) => set({ inform })}
          />
        </>
      )}
      <TextField
        label="Name"
        value={draft.name}
        onChange={(name) => set({ name })}
        placeholder={input.name}
        error={fieldMessage(problem, '/name')}
        autoComplete="off"
      />
      {test.data && <Exchange result={test.data} />}
    </FormShell>
  );
}
