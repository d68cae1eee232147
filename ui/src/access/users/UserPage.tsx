// One user: the role, a new one-time password, the second factor, and the end.
import { Button, Checkbox, Title } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { use, useState } from 'react';
import { Link, useNavigate, useParams } from 'react-router';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { useEdited } from '../../api/edits.ts';
import { usersQuery } from '../../api/queries.ts';
import { SessionContext } from '../../api/session.ts';
import { ConfirmByName } from '../../forms/ConfirmByName.tsx';
import { ConfirmDialog } from '../../forms/ConfirmDialog.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { SelectField } from '../../forms/SelectField.tsx';
import NoSuchPage from '../../shells/NoSuchPage.tsx';
import { PageShell } from '../../shells/PageShell.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { roleOptions } from './roles.ts';
import { OneTimePassword, UserState } from './Users.tsx';

type User = Schemas['User'];

function UserForm({ user }: { user: User }) {
  const { name } = user;
  const [role, setRole] = useState(user.role);
  const [disabled, setDisabled] = useState(user.disabled);
  const queries = useQueryClient();
  const edited = useEdited({
    now: user,
    read: () => answerOf(client.GET('/api/users/{name}', { params: { path: { name } } })),
    onLoad: (current) => {
      setRole(current.role);
      setDisabled(current.disabled);
    },
    editing: role !== user.role || disabled !== user.disabled,
  });
  const save = useMutation({
    mutationFn: () =>
      edited.guard(
        answerOf(
          client.PUT('/api/users/{name}', {
            params: { path: { name }, header: edited.header },
            body: { role, disabled },
          }),
        ),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['users'] }),
  });
  return (
    <FormShell
      submit="Save"
      onSubmit={() => save.mutate()}
      busy={save.isPending}
      error={save.error}
      mayNot={role === user.role && disabled === user.disabled ? 'Nothing was changed.' : null}
    >
      <SelectField label="Role" value={role} onChange={setRole} options={roleOptions} />
      <Checkbox
        id="disabled"
        label="Disabled"
        description="The user cannot sign in, present sessions end, and the user’s API tokens are refused."
        isChecked={disabled}
        onChange={(_event, checked) => setDisabled(checked)}
      />
    </FormShell>
  );
}

function DeleteUser({ user, onClose }: { user: User; onClose: () => void }) {
  const { name } = user;
  const users = useQuery(usersQuery);
  const [tokensTo, setTokensTo] = useState('');
  const queries = useQueryClient();
  const navigate = useNavigate();
  const remove = async () => {
    const query = tokensTo === '' ? {} : { tokensTo };
    await answerOf(client.DELETE('/api/users/{name}', { params: { path: { name }, query } }));
    await navigate('/settings/users');
    await queries.invalidateQueries({ queryKey: ['users'] });
  };
  const others = (users.data ?? []).filter((one) => one.name !== name);
  return (
    <ConfirmByName title={`Delete ${name}?`} name={name} action="Delete the user" onClose={onClose} onConfirm={remove}>
      <p>Sessions end at once. What {name} made stays, except API tokens.</p>
      <SelectField
        label="The API tokens of the user"
        value={tokensTo}
        onChange={setTokensTo}
        options={[
          ['', 'are deleted: what uses them is refused'],
          ...others.map((one) => [one.name, `are handed over to ${one.name}`] as const),
        ]}
      />
    </ConfirmByName>
  );
}

export default function UserPage() {
  const { name = '' } = useParams();
  const users = useQuery(usersQuery);
  const queries = useQueryClient();
  const own = use(SessionContext).name === name;
  const [asking, setAsking] = useState<'reset' | 'clear' | 'delete' | null>(null);
  const [made, setMade] = useState<Schemas['OneTimePassword'] | null>(null);
  if (users.data === undefined) return <Waiting on={users} page />;
  const user = users.data.find((one) => one.name === name);
  if (user === undefined) return <NoSuchPage />;
  return (
    <PageShell title={name} way={[['Users', '/settings/users']]} sentence={<UserState user={user} />}>
      <div className="cistern-stack">
        <UserForm user={user} />
        <section aria-labelledby="sign-in">
          <Title headingLevel="h2" id="sign-in">
            Sign-in
          </Title>
          {user.provider !== null ? (
            <p>By an identity provider, which knows the password and gives the role.</p>
          ) : made ? (
            <OneTimePassword made={made} onDone={() => setMade(null)} />
          ) : (
            <Button variant="secondary" onClick={() => setAsking('reset')}>
              Replace the password
            </Button>
          )}
        </section>
        <section aria-labelledby="second-factor">
          <Title headingLevel="h2" id="second-factor">
            Second factor
          </Title>
          {!user.secondFactor ? (
            <p>None: the password is enough.</p>
          ) : own ? (
            <p>
              You have one; it is looked after in your <Link to="/profile">profile</Link>.
            </p>
          ) : (
            <div className="cistern-stack">
              <p>A code is asked for besides the password.</p>
              <div>
                <Button variant="secondary" onClick={() => setAsking('clear')}>
                  Clear
                </Button>
              </div>
            </div>
          )}
        </section>
        <div>
          <Button variant="danger" onClick={() => setAsking('delete')}>
            Delete the user
          </Button>
        </div>
      </div>
      {asking === 'reset' && (
        <ConfirmDialog
          title={`Replace the password of ${name}?`}
          action="Make a one-time password"
          onClose={() => setAsking(null)}
          onConfirm={async () => {
            const path = { name };
            setMade(await answerOf(client.POST('/api/users/{name}/reset-password', { params: { path } })));
            await queries.invalidateQueries({ queryKey: ['users'] });
          }}
        >
          <p>The present password no longer works, and all sessions of {name} end.</p>
        </ConfirmDialog>
      )}
      {asking === 'clear' && (
        <ConfirmDialog
          title={`Clear the second factor of ${name}?`}
          action="Clear"
          danger
          onClose={() => setAsking(null)}
          onConfirm={async () => {
            await answerOf(client.POST('/api/users/{name}/clear-factors', { params: { path: { name } } }));
            await queries.invalidateQueries({ queryKey: ['users'] });
          }}
        >
          <p>
            For somebody who has lost the app and the recovery codes. The password is enough then, and all sessions of{' '}
            {name} end. Make sure that it is {name} who asks you.
          </p>
        </ConfirmDialog>
      )}
      {asking === 'delete' && <DeleteUser user={user} onClose={() => setAsking(null)} />}
    </PageShell>
  );
}
