// What is replicated where, how far behind it is and how the last run went; and who replicates to here.
import { Button, EmptyState, EmptyStateBody, PageSection, Progress } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useNavigate } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { ifMatch } from '../../api/edits.ts';
import { jobsQuery } from '../../api/queries.ts';
import { useMayNot } from '../../api/session.ts';
import { Confirm } from '../../forms/Confirm.tsx';
import { Explained } from '../../forms/Explained.tsx';
import { AddButton } from '../../forms/ListActions.tsx';
import { PageHead } from '../../shells/PageHead.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { Ago } from '../../words/Ago.tsx';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';
import { bytes, duration, plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { datasetPath } from '../datasets/queries.ts';
import { StorageTabs } from '../StorageTabs.tsx';
import { type Replication, replicationsQuery, targetWords } from './queries.ts';
import { Senders } from './Senders.tsx';

const isLate = ({ enabled, lagSeconds, lateAfterMinutes }: Replication) =>
  enabled && lateAfterMinutes > 0 && lagSeconds !== null && lagSeconds > lateAfterMinutes * 60;
const isBad = (one: Replication) => one.enabled && (one.lastRun?.error != null || isLate(one));

function sentenceOf(all: readonly Replication[]) {
  const failing = all.find(({ enabled, lastRun }) => enabled && lastRun?.error);
  if (failing !== undefined) {
    return {
      state: 'warning' as const,
      sentence: `The replication of “${failing.dataset}” fails. ${failing.lastRun?.error?.detail}`,
    };
  }
  const late = all.find(isLate);
  if (late !== undefined) {
    const lag = duration(late.lagSeconds ?? 0);
    return { state: 'warning' as const, sentence: `What ${targetWords(late.target)} has is ${lag} old.` };
  }
  const on = all.filter(({ enabled }) => enabled);
  if (on.length === 0) return { state: 'info' as const, sentence: 'Nothing is replicated to another place.' };
  const never = on.find(({ lagSeconds }) => lagSeconds === null);
  if (never !== undefined) {
    const under = never.job === null ? '' : ' It is on its way.';
    return {
      state: 'info' as const,
      sentence: `Nothing of “${never.dataset}” has arrived at ${targetWords(never.target)} yet.${under}`,
    };
  }
  const worst = Math.max(...on.map(({ lagSeconds }) => lagSeconds ?? 0));
  return {
    state: 'ok' as const,
    sentence: `${plural(on.length, 'dataset is', 'datasets are')} replicated. The oldest copy is ${duration(worst)} old.`,
  };
}

function Running({ id }: { id: string }) {
  const jobs = useQuery({ ...jobsQuery, refetchInterval: 1_000 });
  const job = jobs.data?.find((one) => one.id === id);
  const mayNot = useMayNot('operator');
  const cancel = useMutation({
    mutationFn: () => answerOf(client.POST('/api/jobs/{id}/cancel', { params: { path: { id } } })),
  });
  return (
    <>
      <Progress
        value={job?.percent ?? undefined}
        title={job?.step ?? 'Beginning'}
        aria-label="Replication"
        helperText={
          job && (
            <>
              Begun <Ago time={job.startedAt} />.
            </>
          )
        }
      />
      <div className="cistern-actions">
        <Explained why={mayNot}>
          <Button
            variant="link"
            isInline
            isLoading={cancel.isPending}
            isAriaDisabled={mayNot !== null}
            onClick={() => cancel.mutate()}
          >
            Cancel
          </Button>
        </Explained>
      </div>
      <ProblemAlert error={cancel.error} />
    </>
  );
}

function One({ replication, onRemove }: { replication: Replication; onRemove: () => void }) {
  const { dataset, target, enabled, lastRun, lastSuccess, lagSeconds, nextRun, retryAt, job } = replication;
  const operator = useMayNot('operator');
  const administrator = useMayNot('administrator');
  const navigate = useNavigate();
  const queries = useQueryClient();
  const run = useMutation({
    mutationFn: () => answerOf(client.POST('/api/replications/{id}/run', { params: { path: { id: replication.id } } })),
    onSettled: () => queries.invalidateQueries({ queryKey: replicationsQuery.queryKey }),
  });
  const busy = job === null ? null : 'It is running.';
  return (
    <li className="cistern-alert">
      <div className="cistern-spread">
        <div className="cistern-name">
          {enabled && <ConditionIcon state={isBad(replication) ? 'warning' : lastSuccess === null ? 'info' : 'ok'} />}{' '}
          <Link to={datasetPath(dataset)}>{dataset}</Link>
          {replication.recursive && <span className="cistern-quiet"> and all below it</span>} → {targetWords(target)}
        </div>
        <div className="cistern-row-actions">
          <Explained why={operator ?? busy}>
            <Button
              variant="link"
              isInline
              isLoading={run.isPending}
              isAriaDisabled={(operator ?? busy) !== null}
              aria-label={`Replicate now: ${dataset}`}
              onClick={() => run.mutate()}
            >
              Replicate now
            </Button>
          </Explained>
          <Explained why={administrator ?? busy}>
            <Button
              variant="link"
              isInline
              isAriaDisabled={(administrator ?? busy) !== null}
              aria-label={`Change the replication of ${dataset}`}
              onClick={() => void navigate(`/storage/replication/${replication.id}`)}
            >
              Change
            </Button>
          </Explained>
          <Explained why={administrator ?? busy}>
            <Button
              variant="link"
              isDanger
              isInline
              isAriaDisabled={(administrator ?? busy) !== null}
              aria-label={`End the replication of ${dataset}`}
              onClick={onRemove}
            >
              End
            </Button>
          </Explained>
        </div>
      </div>
      <p>
        {lastSuccess === null || lagSeconds === null
          ? 'Nothing has arrived there yet.'
          : `What is there is ${duration(lagSeconds)} old.`}{' '}
        {`${replication.words.charAt(0).toUpperCase()}${replication.words.slice(1)}.`}
      </p>
      {job !== null && <Running id={job} />}
      <p className="cistern-quiet">
        {nextRun === null ? (
          'Switched off.'
        ) : (
          <>
            Next <Ago time={nextRun} />.
          </>
        )}{' '}
        {job !== null ? null : lastRun ? (
          <>
            Last <Ago time={lastRun.at} />
            {lastRun.error ? '' : `, ${bytes(lastRun.bytes)} in ${duration(lastRun.seconds)}`}.
          </>
        ) : (
          'It has not run yet.'
        )}
      </p>
      {job === null && lastRun?.error && (
        <p className="cistern-bad">
          {lastRun.error.detail} {lastRun.error.action}{' '}
          {retryAt && (
            <>
              It is tried again <Ago time={retryAt} />.
            </>
          )}
        </p>
      )}
      <ProblemAlert error={run.error} />
    </li>
  );
}

export default function ReplicationPage() {
  const { data, error, refetch } = useQuery(replicationsQuery);
  const mayNot = useMayNot('administrator');
  const queries = useQueryClient();
  const [removing, setRemoving] = useState<Replication | null>(null);
  return (
    <>
      <PageHead title="Replication" {...(data && sentenceOf(data))} />
      <StorageTabs active="replication" />
      <PageSection>
        {data === undefined ? (
          <Waiting on={{ error, refetch }} />
        ) : (
          <div className="cistern-stack">
            <div>
              <AddButton to="/storage/new-replication" why={mayNot}>
                New replication
              </AddButton>
            </div>
            {data.length === 0 ? (
              <EmptyState headingLevel="h2" titleText="Nothing is replicated">
                <EmptyStateBody>
                  A replication sends the snapshots of a dataset to another pool or another machine, first all of it and
                  then what changes. When this machine is lost, they are there.
                </EmptyStateBody>
              </EmptyState>
            ) : (
              <ul className="cistern-alerts" aria-label="Replications">
                {data.map((one) => (
                  <One key={one.id} replication={one} onRemove={() => setRemoving(one)} />
                ))}
              </ul>
            )}
            <Senders />
          </div>
        )}
      </PageSection>
      {removing && (
        <Confirm
          title={`End the replication of “${removing.dataset}”?`}
          action="End it"
          onClose={() => setRemoving(null)}
          onConfirm={async () => {
            const params = { path: { id: removing.id }, header: ifMatch(removing) };
            await answerOf(client.DELETE('/api/replications/{id}', { params }));
            await queries.invalidateQueries({ queryKey: ['datasets'] });
          }}
        >
          <p>
            What has arrived at {targetWords(removing.target)} stays there. The snapshots that the replication keeps
            here are destroyed: begun again later, it goes on from another snapshot that both have, or sends everything.
          </p>
        </Confirm>
      )}
    </>
  );
}
