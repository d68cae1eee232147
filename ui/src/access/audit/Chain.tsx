// What proves that nobody has changed the audit log: its newest hash, and when the chain was verified.
import { Button, ClipboardCopy, TextInput, Title } from '@patternfly/react-core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { Failure } from '../../api/problem.ts';
import { jobsQuery } from '../../api/queries.ts';
import { Facts } from '../../shells/Facts.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { Ago } from '../../words/Ago.tsx';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';
import { plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { chainQuery } from './queries.ts';

function State({ verified }: { verified: Schemas['AuditChain']['verified'] }) {
  if (verified === null) return <>not yet; it is done each night</>;
  return (
    <>
      <ConditionIcon state={verified.places === 0 ? 'ok' : 'critical'} />{' '}
      {verified.places === 0 ? 'it holds' : `it does not hold in ${plural(verified.places, 'place')}`},{' '}
      <Ago time={verified.at} />
      {verified.damages.map((what) => (
        <p key={what}>{what}</p>
      ))}
    </>
  );
}

/** As it is written down by hand. */
const shortened = ({ id, hash }: { id: number; hash: string }) =>
  `${id}: ${hash.slice(0, 20).replace(/(.{4})(?=.)/g, '$1 ')}`;

/** How the verification that was begun here goes. */
function Progress({ id }: { id: string }) {
  const { data } = useQuery(jobsQuery);
  const job = data?.find((one) => one.id === id);
  if (job === undefined || job.state === 'running') return <p role="status">{job?.step ?? 'It is being verified.'}</p>;
  if (job.error) return <ProblemAlert error={new Failure(job.error)} />;
  return (
    <p role="status">
      <ConditionIcon state="ok" /> {job.log.at(-2)?.text ?? 'It holds.'}
    </p>
  );
}

export function Chain() {
  const { data, ...reading } = useQuery(chainQuery);
  const [known, setKnown] = useState('');
  const verify = useMutation({
    mutationFn: () =>
      answerOf(client.POST('/api/audit-chain/verify', { body: known.trim() === '' ? {} : { known: [known.trim()] } })),
  });
  if (data === undefined) return <Waiting on={reading} />;
  const { newest, anchor, entries } = data;
  return (
    <section className="cistern-form" aria-label="Proof">
      <Title headingLevel="h2" size="lg">
        Proof
      </Title>
      <p>
        Each entry holds a hash of itself and of the one before it. Who may write to the disk could still make them all
        anew: write the newest down, and nobody can change what is before it without that it shows.
      </p>
      <Facts
        facts={[
          [
            'Newest',
            newest === null ? (
              'none'
            ) : (
              <div key={newest.id}>
                <ClipboardCopy isReadOnly textAriaLabel="Newest hash" hoverTip="Copy" clickTip="Copied">
                  {`${newest.id}:${newest.hash}`}
                </ClipboardCopy>
                <p>
                  By hand the first 20 digits do: <code>{shortened(newest)}</code>
                </p>
              </div>
            ),
          ],
          ['Kept', plural(entries, 'entry', 'entries')],
          [
            'Dropped as old',
            anchor === null
              ? 'none'
              : `${plural(anchor.dropped, 'entry', 'entries')}, up to number ${anchor.id} of ${anchor.time.slice(0, 10)}`,
          ],
          ['Verified', <State key="state" verified={data.verified} />],
        ]}
      />
      <TextInput
        aria-label="A hash that was written down"
        placeholder="ID:HASH that was written down; its first 20 digits do"
        value={known}
        onChange={(_event, value) => setKnown(value)}
      />
      {verify.error && <ProblemAlert error={verify.error} />}
      {verify.data && <Progress id={verify.data.id} />}
      <div>
        <Button variant="secondary" isLoading={verify.isPending} onClick={() => verify.mutate()}>
          Verify now
        </Button>
      </div>
    </section>
  );
}
