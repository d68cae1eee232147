// The users who may sign in, and what each role may do.
import { Button, ClipboardCopy, ExpandableSection, Label, Title } from '@patternfly/react-core';
import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { usersQuery } from '../../api/queries.ts';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { SelectField } from '../../forms/SelectField.tsx';
import { ListTable } from '../../shells/ListTable.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { Ago } from '../../words/Ago.tsx';
import { roleOptions } from './roles.ts';

type User = Schemas['User'];
type Made = Schemas['OneTimePassword'];

export function OneTimePassword({ made, onDone }: { made: Made; onDone: () => void }) {
  return (
    <div className="cistern-form" role="status">
      <p className="cistern-sentence">
        The one-time password of {made.user.name} is shown this once. Give it to {made.user.name}; at the first sign-in
        it must be changed. It is good for a week.
      </p>
      <ClipboardCopy isReadOnly textAriaLabel="One-time password" hoverTip="Copy" clickTip="Copied">
        {made.password}
      </ClipboardCopy>
      <div>
        <Button onClick={onDone}>I have copied it</Button>
      </div>
    </div>
  );
}

function NewUser({ onMade, onCancel }: { onMade: (made: Made) => void; onCancel: () => void }) {
  const [name, setName] = useState('');
  const [role, setRole] = useState<User['role']>('viewer');
  const queries = useQueryClient();
  const create = useMutation({
    mutationFn: () => answerOf(client.POST('/api/users', { body: { name: name.trim(), role } })),
    onSuccess: async (made) => {
      onMade(made);
      await queries.invalidateQueries({ queryKey: usersQuery.queryKey });
    },
  });
  const problem = create.error ? asProblem(create.error) : null;
  return (
    <FormShell
      submit="Add the user"
      onSubmit={() => create.mutate()}
      busy={create.isPending}
      error={create.error}
      fields={['/name']}
      mayNot={name.trim() === '' ? 'Enter a name.' : null}
      cancel={onCancel}
    >
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        help="What the user signs in with: small letters, digits, “.”, “_” and “-”."
        error={fieldMessage(problem, '/name')}
        autoComplete="off"
        autoFocus
        required
      />
      <SelectField label="Role" value={role} onChange={setRole} options={roleOptions} />
    </FormShell>
  );
}

const rolesQuery = queryOptions({
  queryKey: ['roles'],
  queryFn: async ({ signal }) => (await answerOf(client.GET('/api/roles', { signal }))).items,
  staleTime: Number.POSITIVE_INFINITY,
});

/** From the declarations of the routes themselves, so it is what the appliance does. */
function Roles() {
  const { data, error } = useQuery(rolesQuery);
  if (data === undefined) return <Waiting on={{ error }} />;
  return data
    .filter(({ routes }) => routes.length > 0)
    .map(({ role, routes }) => (
      <ExpandableSection key={role} toggleText={`Only from ${role} on: ${routes.length} things`}>
        <ul>
          {routes.map(({ id, summary }) => (
            <li key={id}>{summary}</li>
          ))}
        </ul>
      </ExpandableSection>
    ));
}

export function UserState({ user }: { user: User }) {
  if (user.disabled) return <Label color="red">disabled</Label>;
  if (user.password === 'expired') return <Label color="orange">one-time password expired</Label>;
  if (user.password === 'one-time') {
    return <Label color="blue">{user.lastSignInAt ? 'must choose a password' : 'has not signed in yet'}</Label>;
  }
  return <Label color="green">active</Label>;
}

export function Users() {
  const list = useQuery(usersQuery);
  const [adding, setAdding] = useState(false);
  const [made, setMade] = useState<Made | null>(null);
  return (
    <div className="cistern-stack">
      {made ? (
        <OneTimePassword made={made} onDone={() => setMade(null)} />
      ) : adding ? (
        <NewUser
          onMade={(one) => {
            setMade(one);
            setAdding(false);
          }}
          onCancel={() => setAdding(false)}
        />
      ) : (
        <div>
          <Button variant="secondary" onClick={() => setAdding(true)}>
            New user
          </Button>
        </div>
      )}
      {list.data === undefined ? (
        <Waiting on={list} />
      ) : (
        <ListTable
          label="Users"
          rows={list.data}
          keyOf={({ name }) => name}
          columns={[
            { title: 'Name', cell: ({ name }) => <Link to={`/settings/users/${name}`}>{name}</Link> },
            { title: 'Role', cell: ({ role }) => role },
            { title: 'Account', cell: ({ provider }) => (provider === null ? 'of this appliance' : 'external') },
            { title: 'Second factor', cell: ({ secondFactor }) => (secondFactor ? 'yes' : 'no') },
            { title: 'State', cell: (user) => <UserState user={user} /> },
            {
              title: 'Last sign-in',
              cell: ({ lastSignInAt }) => (lastSignInAt ? <Ago time={lastSignInAt} /> : 'never'),
            },
          ]}
        />
      )}
      <section aria-labelledby="roles">
        <Title headingLevel="h2" id="roles">
          What each role may do
        </Title>
        <Roles />
      </section>
    </div>
  );
}
