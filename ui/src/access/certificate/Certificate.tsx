// The certificate of the web page: what it is, and another one in its place.
import { Alert, Button, Title } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { Confirm } from '../../forms/Confirm.tsx';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { CertificateFacts } from './CertificateFacts.tsx';
import { Install } from './Install.tsx';
import { namesOf, proposed } from './names.ts';
import { certificateQuery } from './queries.ts';
import { Request } from './Request.tsx';

type State = Schemas['CertificateState'];

function Previous({ previous }: { previous: NonNullable<State['previous']> }) {
  const queries = useQueryClient();
  const [asking, setAsking] = useState(false);
  return (
    <section aria-labelledby="certificate-previous" className="cistern-stack">
      <Title headingLevel="h2" size="lg" id="certificate-previous">
        The one before
      </Title>
      <CertificateFacts certificate={previous} />
      <div>
        <Button variant="secondary" onClick={() => setAsking(true)}>
          Put it back
        </Button>
      </div>
      {asking && (
        <Confirm
          title="Put the certificate before back?"
          action="Put it back"
          onClose={() => setAsking(false)}
          onConfirm={async () => {
            const after = await answerOf(client.POST('/api/certificate/restore'));
            queries.setQueryData(certificateQuery.queryKey, after);
          }}
        >
          <p>It takes the place of the present one, which is kept as the one before. Browsers are shown it at once.</p>
        </Confirm>
      )}
    </section>
  );
}

function OwnCertificate({ state }: { state: State }) {
  const queries = useQueryClient();
  const [asking, setAsking] = useState(false);
  const [names, setNames] = useState(() => proposed(state.current, location.hostname));
  const make = useMutation({
    mutationFn: () => answerOf(client.POST('/api/certificate/self-sign', { body: namesOf(names) })),
    onSuccess: (after) => {
      queries.setQueryData(certificateQuery.queryKey, after);
      setAsking(false);
    },
  });
  const problem = make.error ? asProblem(make.error) : null;
  return (
    <section aria-labelledby="certificate-own" className="cistern-stack">
      <Title headingLevel="h2" size="lg" id="certificate-own">
        One of the appliance’s own
      </Title>
      {asking ? (
        <FormShell
          name="Certificate of the appliance’s own"
          submit="Make and install it"
          danger
          onSubmit={() => make.mutate()}
          busy={make.isPending}
          error={make.error}
          fields={['/names', '/addresses']}
          mayNot={names.trim() === '' ? 'Give a name or an address.' : null}
          cancel={() => setAsking(false)}
        >
          <TextField
            label="Names and addresses"
            value={names}
            onChange={setNames}
            help="Under which the page is opened, with spaces between them."
            error={fieldMessage(problem, '/names') ?? fieldMessage(problem, '/addresses')}
            autoComplete="off"
          />
          <p>
            Everybody is asked to trust it anew: compare the fingerprint with that of the console. A browser that has
            seen a trusted certificate under a name lets nobody past this one under the same name for a year; open the
            page by its address there.
          </p>
        </FormShell>
      ) : (
        <div>
          <Button variant="secondary" onClick={() => setAsking(true)}>
            Make a new one
          </Button>
        </div>
      )}
    </section>
  );
}

export function Certificate() {
  const certificate = useQuery(certificateQuery);
  const { data, error, refetch } = certificate;
  if (data === undefined) return <Waiting on={certificate} />;
  return (
    <div className="cistern-stack">
      {error && <ProblemAlert error={error} retry={() => void refetch()} stale />}
      {data.problem !== null && <Alert isInline component="p" variant="danger" title={data.problem} />}
      {data.current !== null && (
        <section aria-labelledby="certificate-current">
          <Title headingLevel="h2" size="lg" id="certificate-current">
            In use
          </Title>
          <CertificateFacts certificate={data.current} />
        </section>
      )}
      <Request state={data} />
      <Install requested={data.request !== null} />
      <OwnCertificate state={data} />
      {data.previous !== null && <Previous previous={data.previous} />}
    </div>
  );
}
