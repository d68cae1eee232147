// API tokens: what a program signs in with. A token is shown once, when it is made; the appliance keeps only a hash of it.
import { Button, ClipboardCopy } from '@patternfly/react-core';
import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { useMayNot } from '../../api/session.ts';
import { ConfirmByName } from '../../forms/ConfirmByName.tsx';
import { Explained } from '../../forms/Explained.tsx';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { SelectField } from '../../forms/SelectField.tsx';
import { ListTable } from '../../shells/ListTable.tsx';
import { Ago } from '../../words/Ago.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';

type Token = Schemas['Token'];
type Role = Token['role'];

const tokensQuery = queryOptions({
  queryKey: ['tokens'],
  queryFn: async ({ signal }) => (await answerOf(client.GET('/api/tokens', { signal }))).items,
});

const roles: [Role, string][] = [
  ['writer', 'send metrics, nothing else'],
  ['viewer', 'read everything (Grafana)'],
  ['operator', 'operate: alerts, services, bundles'],
  ['administrator', 'everything'],
];

function NewToken({ onMade, onCancel }: { onMade: (token: Token) => void; onCancel: () => void }) {
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('writer');
  const queries = useQueryClient();
  const create = useMutation({
    mutationFn: () => answerOf(client.POST('/api/tokens', { body: { name: name.trim(), role } })),
    onSuccess: async (token) => {
      onMade(token);
      await queries.invalidateQueries({ queryKey: tokensQuery.queryKey });
    },
  });
  const problem = create.error ? asProblem(create.error) : null;
  return (
    <FormShell
      submit="Create the token"
      onSubmit={() => create.mutate()}
      busy={create.isPending}
      error={create.error}
      fields={['/name']}
      mayNot={name.trim() === '' ? 'Give it a name.' : null}
      cancel={onCancel}
    >
      <TextField
        label="Name of the token"
        value={name}
        onChange={setName}
        help="The program or machine that uses it, so that you know later which one to delete."
        error={fieldMessage(problem, '/name')}
        autoComplete="off"
        autoFocus
        required
      />
      <SelectField label="It may" value={role} onChange={(value) => setRole(value)} options={roles} />
    </FormShell>
  );
}

function Made({ token, onDone }: { token: Token; onDone: () => void }) {
  return (
    <div className="cistern-form" role="status">
      <p className="cistern-sentence">The token “{token.name}” is shown this once. Copy it now.</p>
      <ClipboardCopy isReadOnly textAriaLabel="Token" hoverTip="Copy" clickTip="Copied">
        {token.token ?? ''}
      </ClipboardCopy>
      {token.role === 'writer' && (
        <>
          <p>For Prometheus, in its configuration:</p>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
          <section className="cistern-exchange" tabIndex={0} aria-label="Configuration for Prometheus">
            <pre>{`remote_write:\n  - url: ${location.origin}/api/v1/write\n    authorization: {credentials: ${token.token}}`}</pre>
          </section>
        </>
      )}
      <div>
        <Button onClick={onDone}>I have copied it</Button>
      </div>
    </div>
  );
}

export function Tokens() {
  const mayNot = useMayNot('administrator');
  const { data, error, refetch } = useQuery({ ...tokensQuery, enabled: mayNot === null });
  const queries = useQueryClient();
  const [adding, setAdding] = useState(false);
  const [made, setMade] = useState<Token | null>(null);
  const [removing, setRemoving] = useState<Token | null>(null);
  const remove = async (token: Token) => {
    await answerOf(client.DELETE('/api/tokens/{id}', { params: { path: { id: token.id } } }));
    await queries.invalidateQueries({ queryKey: tokensQuery.queryKey });
  };
  return (
    <div className="cistern-stack">
      <p>Programs that send metrics over HTTPS, or read them, sign in with a token. statsd on port 8125 needs none.</p>
      {made ? (
        <Made token={made} onDone={() => setMade(null)} />
      ) : adding ? (
        <NewToken
          onMade={(token) => {
            setMade(token);
            setAdding(false);
          }}
          onCancel={() => setAdding(false)}
        />
      ) : (
        <div>
          <Explained why={mayNot}>
            <Button variant="secondary" isAriaDisabled={mayNot !== null} onClick={() => setAdding(true)}>
              New API token
            </Button>
          </Explained>
        </div>
      )}
      {error && <ProblemAlert error={error} retry={() => void refetch()} stale={data !== undefined} />}
      {data && data.length > 0 && (
        <ListTable
          label="API tokens"
          rows={data}
          keyOf={(token) => token.id}
          columns={[
            { title: 'Name', cell: (token) => token.name },
            { title: 'It may', cell: (token) => roles.find(([role]) => role === token.role)?.[1] ?? token.role },
            { title: 'Made', cell: (token) => <Ago time={token.createdAt} /> },
            { title: 'Last used', cell: (token) => (token.lastUsedAt ? <Ago time={token.lastUsedAt} /> : 'never') },
            {
              title: 'Actions',
              control: 'actions',
              cell: (token) => (
                <Button variant="link" aria-label={`Delete the token ${token.name}`} onClick={() => setRemoving(token)}>
                  Delete
                </Button>
              ),
            },
          ]}
        />
      )}
      {removing && (
        <ConfirmByName
          title="Delete this API token?"
          name={removing.name}
          action="Delete the token"
          onClose={() => setRemoving(null)}
          onConfirm={() => remove(removing)}
        >
          <p>The program that uses it is refused from then on; what it sends is lost unless it keeps it.</p>
        </ConfirmByName>
      )}
    </div>
  );
}
