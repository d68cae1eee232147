// A signing request: the key is made in the appliance, and never leaves it.
import { Button, Title } from '@patternfly/react-core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { SelectField } from '../../forms/SelectField.tsx';
import { Facts } from '../../shells/Facts.tsx';
import { namesOf, proposed } from './names.ts';
import { certificateQuery } from './queries.ts';

type State = Schemas['CertificateState'];

const keys = [
  ['ecdsa-p256', 'ECDSA P-256'],
  ['ecdsa-p384', 'ECDSA P-384'],
  ['rsa-2048', 'RSA, 2,048 bits'],
  ['rsa-4096', 'RSA, 4,096 bits'],
] as const;
type Kind = (typeof keys)[number][0];

function Waiting({ request }: { request: NonNullable<State['request']> }) {
  const { subject, names, addresses, key, pem } = request;
  return (
    <div className="cistern-stack">
      <p>
        A request waits for its certificate. Have an authority sign it, and install what comes back below; the key is
        here.
      </p>
      <Facts
        isHorizontal
        isCompact
        facts={[
          ['For', [...names, ...addresses].join(', ')],
          ['Subject', subject],
          ['Key', key],
        ]}
      />
      <div>
        <Button
          variant="secondary"
          component="a"
          href={`data:application/pkcs10;charset=utf-8,${encodeURIComponent(pem)}`}
          download="cistern.csr"
        >
          Download the request
        </Button>
      </div>
    </div>
  );
}

export function Request({ state }: { state: State }) {
  const queries = useQueryClient();
  const [asking, setAsking] = useState(false);
  const [names, setNames] = useState(() => proposed(state.current, location.hostname));
  const [organization, setOrganization] = useState('');
  const [country, setCountry] = useState('');
  const [key, setKey] = useState<Kind>('ecdsa-p256');
  const make = useMutation({
    mutationFn: () =>
      answerOf(
        client.POST('/api/certificate/create-request', { body: { ...namesOf(names), organization, country, key } }),
      ),
    onSuccess: (after) => {
      queries.setQueryData(certificateQuery.queryKey, after);
      setAsking(false);
    },
  });
  const problem = make.error ? asProblem(make.error) : null;
  return (
    <section aria-labelledby="certificate-request" className="cistern-stack">
      <Title headingLevel="h2" size="lg" id="certificate-request">
        Signing request
      </Title>
      {state.request !== null && <Waiting request={state.request} />}
      {asking ? (
        <FormShell
          name="Signing request"
          submit="Make the request"
          onSubmit={() => make.mutate()}
          busy={make.isPending}
          error={make.error}
          fields={['/names', '/addresses', '/organization', '/country']}
          mayNot={names.trim() === '' ? 'Give a name or an address.' : null}
          cancel={() => setAsking(false)}
        >
          <TextField
            label="Names and addresses"
            value={names}
            onChange={setNames}
            help="Under which the page is opened, with spaces between them. Most authorities sign names only."
            error={fieldMessage(problem, '/names') ?? fieldMessage(problem, '/addresses')}
            autoComplete="off"
          />
          <TextField
            label="Organization (if the authority wants it)"
            value={organization}
            onChange={setOrganization}
            error={fieldMessage(problem, '/organization')}
            autoComplete="organization"
          />
          <TextField
            label="Country (two letters, if the authority wants it)"
            value={country}
            onChange={(text) => setCountry(text.toUpperCase())}
            error={fieldMessage(problem, '/country')}
            autoComplete="country"
          />
          <SelectField<Kind> label="Key" value={key} onChange={setKey} options={keys} />
          {state.request !== null && (
            <p className="cistern-quiet">The request that waits ends: a certificate for it cannot be installed then.</p>
          )}
        </FormShell>
      ) : (
        <div>
          <Button variant={state.request === null ? 'secondary' : 'link'} onClick={() => setAsking(true)}>
            {state.request === null ? 'Make a signing request' : 'Make another request'}
          </Button>
        </div>
      )}
    </section>
  );
}
