// Setting an identity provider up: where it is, how people are found there, and which group has which role.
import { Button, Checkbox, TextArea } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client } from '../../api/client.ts';
import { useEdited } from '../../api/edits.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { Field, TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { LinesField } from '../../forms/LinesField.tsx';
import { SelectField } from '../../forms/SelectField.tsx';
import { ACTIVE_DIRECTORY, type Draft, draftOf, type FieldsProps, inputOf, KINDS, type Provider } from './provider.ts';
import { providersQuery } from './queries.ts';
import { RolesOfGroups } from './RolesOfGroups.tsx';
import { TestSteps } from './TestSteps.tsx';

function LdapFields({ draft, set, at, existing }: FieldsProps) {
  const { ldap } = draft;
  const change = (part: Partial<Draft['ldap']>) => set({ ldap: { ...ldap, ...part } });
  return (
    <>
      <LinesField
        label="Addresses"
        value={draft.urls}
        onChange={(urls) => set({ urls })}
        error={at('/ldap/urls') ?? at('/ldap/urls/0') ?? at('/ldap/urls/1')}
        help="One a line: ldaps://HOST for TLS, ldap://HOST for StartTLS. The next one is asked when one does not answer."
      />
      <TextField
        label="Search as"
        value={ldap.bindDn}
        onChange={(bindDn) => change({ bindDn })}
        error={at('/ldap/bindDn')}
        placeholder="cn=reader,dc=example,dc=org"
        help="Who may search. Empty: anonymously."
        autoComplete="off"
      />
      <TextField
        label="Its password"
        type="password"
        value={draft.secret ?? ''}
        onChange={(secret) => set({ secret: secret === '' ? null : secret })}
        error={at('/ldap/bindPassword')}
        help={existing?.ldap?.bindPasswordSet ? 'One is stored. Enter another one to change it.' : undefined}
        autoComplete="new-password"
      />
      <TextField
        label="Users are below"
        value={ldap.baseDn}
        onChange={(baseDn) => change({ baseDn })}
        error={at('/ldap/baseDn')}
        placeholder="ou=people,dc=example,dc=org"
        autoComplete="off"
        required
      />
      <TextField
        label="Filter for the user"
        value={ldap.userFilter}
        onChange={(userFilter) => change({ userFilter })}
        error={at('/ldap/userFilter')}
        help="{name} is what was typed."
        autoComplete="off"
        required
      />
      <div className="cistern-pair">
        <TextField
          label="Attribute of the name"
          value={ldap.nameAttribute}
          onChange={(nameAttribute) => change({ nameAttribute })}
          error={at('/ldap/nameAttribute')}
        />
        <TextField
          label="Attribute that stays"
          value={ldap.subjectAttribute}
          onChange={(subjectAttribute) => change({ subjectAttribute })}
          error={at('/ldap/subjectAttribute')}
          help="Also when the user is renamed."
        />
      </div>
      <TextField
        label="Groups are below"
        value={ldap.groupBaseDn}
        onChange={(groupBaseDn) => change({ groupBaseDn })}
        error={at('/ldap/groupBaseDn')}
        placeholder="ou=groups,dc=example,dc=org"
        help="Empty: what the user’s memberOf says is all."
        autoComplete="off"
      />
      <SelectField
        label="Groups within groups"
        value={ldap.nested}
        onChange={(nested) => change({ nested })}
        options={[
          ['no', 'do not count'],
          ['walk', 'count: each group is asked for its groups'],
          ['active-directory', 'count: Active Directory finds them'],
        ]}
      />
      <div>
        <Button variant="link" isInline onClick={() => change(ACTIVE_DIRECTORY)}>
          Fill in what Active Directory wants
        </Button>
      </div>
    </>
  );
}

function OidcFields({ draft, set, at, existing }: FieldsProps) {
  const { oidc } = draft;
  const change = (part: Partial<Draft['oidc']>) => set({ oidc: { ...oidc, ...part } });
  return (
    <>
      <TextField
        label="Issuer"
        value={oidc.issuer}
        onChange={(issuer) => change({ issuer })}
        error={at('/oidc/issuer')}
        placeholder="https://login.example.org/realms/company"
        required
      />
      <div className="cistern-pair">
        <TextField
          label="Client"
          value={oidc.clientId}
          onChange={(clientId) => change({ clientId })}
          error={at('/oidc/clientId')}
          autoComplete="off"
          required
        />
        <TextField
          label="Its secret"
          type="password"
          value={draft.secret ?? ''}
          onChange={(secret) => set({ secret: secret === '' ? null : secret })}
          error={at('/oidc/clientSecret')}
          help={existing?.oidc?.clientSecretSet ? 'One is stored. Enter another one to change it.' : undefined}
          autoComplete="new-password"
        />
      </div>
      <LinesField
        label="Addresses of this page"
        value={draft.pages}
        onChange={(pages) => set({ pages })}
        error={at('/oidc/pages') ?? at('/oidc/pages/0') ?? at('/oidc/pages/1')}
        help="One a line, as https://cistern.example.org. Register each there as a redirect address, with /sign-in/callback behind it."
      />
      <div className="cistern-pair">
        <TextField
          label="Scopes"
          value={oidc.scopes}
          onChange={(scopes) => change({ scopes })}
          error={at('/oidc/scopes')}
        />
        <TextField
          label="Claim of the name"
          value={oidc.nameClaim}
          onChange={(nameClaim) => change({ nameClaim })}
          error={at('/oidc/nameClaim')}
        />
        <TextField
          label="Claim of the groups"
          value={oidc.groupsClaim}
          onChange={(groupsClaim) => change({ groupsClaim })}
          error={at('/oidc/groupsClaim')}
          help="Or a path, as realm_access.roles."
        />
      </div>
      <Checkbox
        id="end-session"
        label="Sign out there, too"
        description="Who signs out here is sent to the provider to sign out there."
        isChecked={oidc.endSession}
        onChange={(_event, endSession) => change({ endSession })}
      />
    </>
  );
}

function Authority({ draft, set, at, existing }: FieldsProps) {
  const known = existing?.ldap?.authority ?? existing?.oidc?.authority;
  return (
    <Field
      label="Certificate authority"
      error={at(`/${draft.kind}/ca`)}
      help={
        known
          ? `${known.subject}, until ${known.expiresAt.slice(0, 10)}. Paste another one to change it.`
          : 'As PEM, when the certificate there was signed by an authority of your own. Empty: those of the operating system.'
      }
    >
      {(id, described) => (
        <TextArea
          id={id}
          aria-describedby={described}
          rows={draft.ca ? 6 : 2}
          resizeOrientation="vertical"
          placeholder="-----BEGIN CERTIFICATE-----"
          spellCheck={false}
          value={draft.ca ?? ''}
          onChange={(_event, ca) => set({ ca: ca === '' ? null : ca })}
        />
      )}
    </Field>
  );
}

export function ProviderForm(props: { existing: Provider | undefined; done: () => void }) {
  const { existing, done } = props;
  const [draft, setDraft] = useState(() => draftOf(existing));
  const [changed, setChanged] = useState(existing === undefined);
  const [who, setWho] = useState({ user: '', password: '' });
  const queries = useQueryClient();
  const set = (change: Partial<Draft>) => {
    setDraft({ ...draft, ...change });
    setChanged(true);
  };
  const { data } = useQuery(providersQuery);
  const edited = useEdited({
    now: existing && data?.find(({ id }) => id === existing.id),
    read: async () => answerOf(client.GET('/api/providers/{id}', { params: { path: { id: existing?.id ?? '' } } })),
    onLoad: (current) => {
      setDraft(draftOf(current));
      setChanged(false);
    },
    editing: changed,
  });
  const save = useMutation({
    mutationFn: () =>
      existing === undefined
        ? answerOf(client.POST('/api/providers', { body: inputOf(draft) }))
        : edited.guard(
            answerOf(
              client.PUT('/api/providers/{id}', {
                params: { path: { id: existing.id }, header: edited.header },
                body: inputOf(draft),
              }),
            ),
          ),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['users'] });
      await queries.invalidateQueries({ queryKey: ['offered-providers'] });
      done();
    },
  });
  const test = useMutation({
    mutationFn: () =>
      answerOf(
        client.POST('/api/providers/test', {
          body: {
            provider: inputOf(draft),
            ...(existing && { id: existing.id }),
            ...(who.user !== '' && { user: who.user }),
            ...(who.password !== '' && { password: who.password }),
          },
        }),
      ),
    onMutate: () => save.reset(),
  });
  const failed = save.error ?? test.error;
  const problem = failed ? asProblem(failed) : null;
  const fields = { draft, set, at: (path: string) => fieldMessage(problem, path), existing };
  return (
    <FormShell
      submit={existing ? 'Save' : 'Add the identity provider'}
      onSubmit={() => {
        test.reset();
        save.mutate();
      }}
      busy={save.isPending}
      error={failed}
      mayNot={draft.name.trim() === '' ? 'Enter a name.' : null}
      cancel={done}
      more={
        <Button variant="secondary" isLoading={test.isPending} onClick={() => test.mutate()}>
          Test it
        </Button>
      }
    >
      <TextField
        label="Name"
        value={draft.name}
        onChange={(name) => set({ name })}
        error={fields.at('/name')}
        help="As people know it: it stands on the page of sign-in."
        autoComplete="off"
        required
      />
      {existing === undefined && (
        <SelectField
          label="Kind"
          value={draft.kind}
          onChange={(kind) => set({ kind, secret: null })}
          options={Object.entries(KINDS) as [Draft['kind'], string][]}
        />
      )}
      <Checkbox
        id="enabled"
        label="People may sign in by it"
        isChecked={draft.enabled}
        onChange={(_event, enabled) => set({ enabled })}
      />
      {draft.kind === 'ldap' ? <LdapFields {...fields} /> : <OidcFields {...fields} />}
      <Authority {...fields} />
      <RolesOfGroups {...fields} />
      {draft.kind === 'ldap' && (
        <div className="cistern-pair">
          <TextField
            label="Test with the user"
            value={who.user}
            onChange={(user) => setWho({ ...who, user })}
            help="Whom to search for. It is not kept."
            autoComplete="off"
          />
          <TextField
            label="Password for the test"
            type="password"
            value={who.password}
            onChange={(password) => setWho({ ...who, password })}
            help="Empty: it is not tried."
            autoComplete="new-password"
          />
        </div>
      )}
      {test.data && <TestSteps result={test.data} />}
    </FormShell>
  );
}
