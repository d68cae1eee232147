// API tokens: what a program signs in with. A token is shown once, when it is made; the appliance keeps only a hash of it.
import { Button, ClipboardCopy, Label, TextArea } from '@patternfly/react-core';
import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { use, useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { SessionContext } from '../../api/session.ts';
import { ConfirmByName } from '../../forms/ConfirmByName.tsx';
import { Field, TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { LinesField } from '../../forms/LinesField.tsx';
import { labelsIn } from '../../forms/lines.ts';
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

const roles: readonly (readonly [Role, string])[] = [
  ['writer', 'send metrics, nothing else'],
  ['viewer', 'read everything (Grafana)'],
  ['operator', 'operate: alerts, services, bundles'],
  ['administrator', 'everything'],
];

const lifetimes = [
  ['30', '30 days'],
  ['90', '90 days'],
  ['365', 'a year'],
  ['1095', 'three years'],
  ['', 'for ever'],
] as const;
type Lifetime = (typeof lifetimes)[number][0];

/** By what a program proves that it is the one. */
const proofs = [
  ['secret', 'a secret, which is shown once'],
  ['own', 'a certificate of its own'],
  ['ca', 'a certificate of a CA'],
] as const;
type Proof = (typeof proofs)[number][0];

/** Addresses and networks, one behind the other. */
const networksIn = (text: string) => text.split(/[\s,;]+/).filter((one) => one !== '');

function NewToken({ onMade, onCancel }: { onMade: (token: Token) => void; onCancel: () => void }) {
  const [name, setName] = useState('');
  const user = use(SessionContext);
  // A token never may more than who makes it; a viewer may not send.
  const mayBe = roles.filter(
    ([role]) =>
      user.role === 'administrator' || role === 'viewer' || (user.role === 'operator' && role !== 'administrator'),
  );
  const [role, setRole] = useState<Role>(mayBe[0]?.[0] ?? 'viewer');
  const [lifetime, setLifetime] = useState<Lifetime>('365');
  const [networks, setNetworks] = useState('');
  const [labels, setLabels] = useState('');
  const [selector, setSelector] = useState('');
  const [proof, setProof] = useState<Proof>('secret');
  const [certificate, setCertificate] = useState('');
  const [commonName, setCommonName] = useState('');
  const queries = useQueryClient();
  const create = useMutation({
    mutationFn: () =>
      answerOf(
        client.POST('/api/tokens', {
          body: {
            name: name.trim(),
            role,
            expiresInDays: lifetime === '' ? null : Number(lifetime),
            networks: networksIn(networks),
            ...(role === 'writer' && { labels: labelsIn(labels) }),
            ...(role === 'viewer' && { selector: selector.trim() || null }),
            ...(proof !== 'secret' && { certificate: certificate.trim() }),
            ...(proof === 'ca' && { commonName: commonName.trim() }),
          },
        }),
      ),
    onSuccess: async (token) => {
      onMade(token);
      await queries.invalidateQueries({ queryKey: tokensQuery.queryKey });
    },
  });
  const problem = create.error ? asProblem(create.error) : null;
  const missing = [
    name.trim() === '' && 'Give it a name.',
    proof !== 'secret' && certificate.trim() === '' && 'Paste a certificate.',
    proof === 'ca' && commonName.trim() === '' && 'Enter the name in the certificates.',
  ].find((one) => one !== false);
  const ofLabels = problem?.errors?.find(({ path }) => path.startsWith('/labels'))?.path ?? '/labels';
  return (
    <FormShell
      submit="Create the token"
      onSubmit={() => create.mutate()}
      busy={create.isPending}
      error={create.error}
      fields={['/name', '/selector', '/certificate', '/commonName', ofLabels]}
      mayNot={missing ?? null}
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
      <SelectField label="It may" value={role} onChange={setRole} options={mayBe} />
      {role === 'writer' && (
        <LinesField
          label="Labels on all that it sends"
          help="NAME=VALUE, one a line, as site=berlin. They take the place of what the sender says. Empty: none."
          error={fieldMessage(problem, ofLabels)}
          value={labels}
          onChange={setLabels}
        />
      )}
      {role === 'viewer' && (
        <TextField
          label="Only these series"
          value={selector}
          onChange={setSelector}
          placeholder={'{site="berlin"}'}
          help="A PromQL selector. With one the token reads nothing but the metrics that it selects. Empty: everything."
          error={fieldMessage(problem, '/selector')}
          autoComplete="off"
        />
      )}
      <SelectField label="It proves itself by" value={proof} onChange={setProof} options={proofs} />
      {proof !== 'secret' && (
        <Field
          label={proof === 'ca' ? 'Certificate of the CA' : 'Certificate of the program'}
          help={
            proof === 'ca'
              ? 'PEM of the CA that issues the certificates itself, not of one above it.'
              : 'PEM. Never its key, which stays with the program alone.'
          }
          error={fieldMessage(problem, '/certificate')}
        >
          {(id, described, complaint) => (
            <TextArea
              id={id}
              aria-describedby={described}
              rows={certificate === '' ? 2 : 6}
              resizeOrientation="vertical"
              placeholder="-----BEGIN CERTIFICATE-----"
              spellCheck={false}
              value={certificate}
              validated={complaint ? 'error' : 'default'}
              onChange={(_event, text) => setCertificate(text)}
            />
          )}
        </Field>
      )}
      {proof === 'ca' && (
        <TextField
          label="Name in the certificates"
          value={commonName}
          onChange={setCommonName}
          help="The common name (CN) of their subject. Any certificate of that name which the CA issues for clients is taken."
          error={fieldMessage(problem, '/commonName')}
          autoComplete="off"
          required
        />
      )}
      <SelectField
        label="It is good for"
        value={lifetime}
        onChange={setLifetime}
        options={lifetimes}
        help={
          proof === 'own'
            ? 'No longer than its certificate. Two weeks before it expires there is an alert.'
            : 'Two weeks before it expires there is an alert.'
        }
      />
      <TextField
        label="Only from these addresses"
        value={networks}
        onChange={setNetworks}
        placeholder="192.0.2.0/24"
        help="Addresses or networks, with spaces between them. Empty: from everywhere."
        autoComplete="off"
      />
    </FormShell>
  );
}

/** Where programs with a certificate are listened to (image/common/nginx). */
const CERTIFICATE_PORT = 9443;

function MadeByCertificate({ token, onDone }: { token: Token; onDone: () => void }) {
  const url = `https://${location.hostname}:${CERTIFICATE_PORT}`;
  const files =
    '      ca_file: /etc/prometheus/cistern.pem   # the certificate of the appliance’s pages, or its CA\n' +
    '      cert_file: /etc/prometheus/client.pem\n      key_file: /etc/prometheus/client.key';
  return (
    <div className="cistern-form" role="status">
      <p className="cistern-sentence">
        A program that shows this certificate at {url} is “{token.name}”. It needs no secret.
      </p>
      {token.role === 'writer' && (
        <>
          <p>For Prometheus, in its configuration:</p>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
          <section className="cistern-exchange" tabIndex={0} aria-label="Configuration for Prometheus">
            <pre>{`remote_write:\n  - url: ${url}/api/v1/write\n    tls_config:\n${files}`}</pre>
          </section>
        </>
      )}
      <div>
        <Button onClick={onDone}>Done</Button>
      </div>
    </div>
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

/** By what it proves itself. */
function By({ token: { certificate } }: { token: Token }) {
  if (certificate === null) return 'a secret';
  const { commonName, subject, sha256 } = certificate;
  if (commonName !== null)
    return (
      <span>
        certificates of <code>{commonName}</code> by {subject}
      </span>
    );
  return (
    <span>
      the certificate <code title={sha256}>{sha256.slice(0, 16)}…</code> of {subject}
    </span>
  );
}

/** What it may, and of what. */
function May({ token: { role, labels, selector } }: { token: Token }) {
  const forced = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  if (forced.length > 0) {
    return (
      <span>
        send metrics with <code>{forced.join(', ')}</code>, nothing else
      </span>
    );
  }
  if (selector === null) return roles.find(([one]) => one === role)?.[1] ?? role;
  return (
    <span>
      read <code>{selector}</code>, nothing else
    </span>
  );
}

const states = {
  valid: null,
  expired: <Label color="red">expired</Label>,
  'owner-disabled': <Label color="orange">its owner is disabled</Label>,
};

/** `own`: only those of who is signed in. */
export function Tokens({ own = false }: { own?: boolean }) {
  const user = use(SessionContext);
  const { data, error, refetch } = useQuery(tokensQuery);
  const shown = data?.filter(({ owner }) => !own || owner === user.name);
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
      <p>
        A program that sends metrics over HTTPS, or reads them, signs in with a token: a secret, or a certificate on
        port {CERTIFICATE_PORT}. statsd on port 8125 needs none.
      </p>
      {made ? (
        made.certificate === null ? (
          <Made token={made} onDone={() => setMade(null)} />
        ) : (
          <MadeByCertificate token={made} onDone={() => setMade(null)} />
        )
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
          <Button variant="secondary" onClick={() => setAdding(true)}>
            New API token
          </Button>
        </div>
      )}
      {error && <ProblemAlert error={error} retry={() => void refetch()} stale={data !== undefined} />}
      {shown && shown.length > 0 && (
        <ListTable
          label="API tokens"
          rows={shown}
          keyOf={(token) => token.id}
          columns={[
            {
              title: 'Name',
              cell: (token) => (
                <span>
                  {token.name} {states[token.state]}
                </span>
              ),
            },
            { title: 'By', cell: (token) => <By token={token} />, modifier: 'breakWord' },
            { title: 'It may', cell: (token) => <May token={token} />, modifier: 'breakWord' },
            ...(own ? [] : [{ title: 'Owner', cell: (token: Token) => token.owner ?? 'the appliance' }]),
            { title: 'From', cell: (token) => token.networks.join(', ') || 'everywhere' },
            {
              title: 'Expires',
              cell: (token) => (token.expiresAt ? new Date(token.expiresAt).toLocaleDateString() : 'never'),
            },
            {
              title: 'Last used',
              head: { modifier: 'nowrap' },
              cell: (token) =>
                token.lastUsedAt ? (
                  <span>
                    <Ago time={token.lastUsedAt} />
                    {token.lastUsedFrom && ` from ${token.lastUsedFrom}`}
                  </span>
                ) : (
                  'never'
                ),
            },
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
