// The certificate of the TLS ports: what senders compare, and what they are given to trust.
import { Alert, Button, Title } from '@patternfly/react-core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { inputCertificateQuery, inputsQuery } from '../../api/queries.ts';
import { Confirm } from '../../forms/Confirm.tsx';
import { Facts } from '../../shells/Facts.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';

const pairs = (hex: string) => hex.toUpperCase().replaceAll(/(..)(?=.)/g, '$1:');
const day = (time: string | null) => (time === null ? '–' : new Date(time).toLocaleDateString());

function Shown({ certificate }: { certificate: Schemas['InputCertificate'] }) {
  const { pem, sha256, names, validFrom, validTo, own, because } = certificate;
  if (pem === null || sha256 === null) return null;
  return (
    <>
      {because !== null && (
        <p className="cistern-sentence">
          It was made after {day(validFrom)}, because {because}. Senders that trust the one before do not connect until
          they have this one.
        </p>
      )}
      <Facts
        isHorizontal
        isCompact
        facts={[
          ['Fingerprint (SHA-256)', <code key="fingerprint">{pairs(sha256)}</code>],
          ['For', names.join(', ')],
          ['Valid until', day(validTo)],
          [
            'Made by',
            own
              ? 'this appliance, which is all that senders trust with it'
              : 'a CA; its files are named in the store’s settings',
          ],
        ]}
      />
      <div>
        <Button
          variant="secondary"
          component="a"
          href={`data:application/x-pem-file;charset=utf-8,${encodeURIComponent(pem)}`}
          download="cistern.pem"
        >
          Download it for senders
        </Button>
      </div>
    </>
  );
}

export function InputCertificate() {
  const { data, error, refetch } = useQuery(inputCertificateQuery);
  const queries = useQueryClient();
  const [asking, setAsking] = useState(false);
  return (
    <section aria-labelledby="input-certificate" className="cistern-stack">
      <Title headingLevel="h2" size="lg" id="input-certificate">
        Certificate of the TLS ports
      </Title>
      {error && <ProblemAlert error={error} retry={() => void refetch()} stale={data !== undefined} />}
      {data?.problem && (
        <Alert isInline component="p" variant="danger" title={`The certificate cannot be read: ${data.problem}.`} />
      )}
      {data && <Shown certificate={data} />}
      {data && (
        <div>
          <Button variant="link" isInline onClick={() => setAsking(true)}>
            {data.own ? 'Make another one' : 'Read the files again'}
          </Button>
        </div>
      )}
      {asking && data && (
        <Confirm
          title={data.own ? 'Make another certificate?' : 'Read the files again?'}
          action={data.own ? 'Make it' : 'Read them'}
          danger={data.own}
          onClose={() => setAsking(false)}
          onConfirm={async () => {
            await answerOf(client.POST('/api/input-certificate/replace'));
            await queries.invalidateQueries({ queryKey: inputsQuery.queryKey });
          }}
        >
          <p>
            {data.own
              ? 'Senders that trust the one that is shown now do not connect any more until they are given the new one. It has the names and addresses that the appliance has now.'
              : 'They are read within a minute after they have changed; this is for those who cannot wait.'}
          </p>
        </Confirm>
      )}
    </section>
  );
}
