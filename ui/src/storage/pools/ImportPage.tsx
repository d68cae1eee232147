// Pools on the disks of this machine that are not imported: what each is, and whether it is safe to take.
import { Card, CardBody, CardTitle, Checkbox, EmptyState, EmptyStateBody, Progress } from '@patternfly/react-core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { Link, useSearchParams } from 'react-router';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { asProblem, Failure, fieldMessage } from '../../api/problem.ts';
import { jobsQuery } from '../../api/queries.ts';
import { useMayNot } from '../../api/session.ts';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { PageShell } from '../../shells/PageShell.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { type Condition, ConditionIcon } from '../../words/ConditionIcon.tsx';
import { plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { LightDot, lightOf, stateWords } from '../disks/DiskTile.tsx';
import { importableQuery, poolPath } from './queries.ts';
import { useStorageRead } from './usePoolAction.ts';

type Importable = Schemas['ImportablePool'];

function conditionOf(pool: Importable): Condition {
  if (pool.state !== 'ONLINE' && pool.state !== 'DEGRADED') return 'critical';
  return pool.inUseElsewhere || pool.state === 'DEGRADED' ? 'warning' : 'ok';
}

function ImportCard({ pool, busy, onStart }: { pool: Importable; busy: boolean; onStart: (job: string) => void }) {
  const mayNot = useMayNot('administrator');
  const read = useStorageRead();
  const [name, setName] = useState(pool.name);
  const [force, setForce] = useState(false);
  const take = useMutation({
    mutationFn: () =>
      answerOf(
        client.POST('/api/importable-pools/{guid}/import', {
          params: { path: { guid: pool.guid } },
          body: {
            ...(name.trim() !== pool.name && { name: name.trim() }),
            ...(pool.inUseElsewhere && { force }),
          },
        }),
      ),
    onSuccess: (job) => onStart(job.id),
    onSettled: read,
  });
  const problem = take.error ? asProblem(take.error) : null;
  const condition = conditionOf(pool);
  const why =
    mayNot ??
    (busy
      ? 'Another pool is being imported or exported.'
      : condition === 'critical'
        ? 'Too many of its devices are missing or broken.'
        : name.trim() === ''
          ? 'Give it a name.'
          : pool.inUseElsewhere && !force
            ? 'Make sure first that no other machine uses it.'
            : null);
  return (
    <Card component="section" aria-label={`Pool ${pool.name}`}>
      <CardTitle component="h2">
        <ConditionIcon state={condition} /> {pool.name}
      </CardTitle>
      <CardBody>
        <div className="cistern-stack">
          <p className="cistern-sentence">{pool.sentence}</p>
          {pool.status && <p className="cistern-quiet">{pool.status}</p>}
          <ul aria-label={`Devices of ${pool.name}`}>
            {pool.devices.map((device, at) => (
              <li
                // biome-ignore lint/suspicious/noArrayIndexKey: a device may be named twice, and the list does not move
                key={`${device.name} ${at}`}
                className="cistern-name"
                style={{ paddingInlineStart: `${(device.depth - 1) * 1.25}rem` }}
              >
                <LightDot light={lightOf(device.state)} /> {device.name}{' '}
                <span className="cistern-quiet">{stateWords(device.state)}</span>
              </li>
            ))}
          </ul>
          <FormShell
            submit="Import the pool"
            busy={take.isPending}
            error={take.error}
            fields={['/name']}
            mayNot={why}
            onSubmit={() => take.mutate()}
          >
            <TextField
              label="Name of the pool here"
              value={name}
              onChange={setName}
              error={fieldMessage(problem, '/name')}
              autoComplete="off"
              required
            />
            {pool.inUseElsewhere && (
              <Checkbox
                id={`force-${pool.guid}`}
                label="Import it by force: no other machine uses it"
                description={pool.sentence}
                isChecked={force}
                onChange={(_event, checked) => setForce(checked)}
              />
            )}
          </FormShell>
          <p className="cistern-quiet">Number {pool.guid}</p>
        </div>
      </CardBody>
    </Card>
  );
}

export default function ImportPage() {
  const { data, error, refetch } = useQuery(importableQuery);
  const [params, setParams] = useSearchParams();
  const id = params.get('job');
  const job = useQuery({ ...jobsQuery, enabled: id !== null }).data?.find((one) => one.id === id);
  const running = job?.state === 'running';
  const read = useStorageRead();
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the job has ended
  useEffect(() => {
    if (job && !running) void read();
  }, [running]);
  const taken = job?.kind === 'pool.import' && job.state === 'done' ? (job.result as { pool: string }).pool : null;
  const sentence =
    data === undefined
      ? undefined
      : data.length === 0
        ? 'No disk of this machine carries a pool that is not imported.'
        : `${plural(data.length, 'pool')} on the disks of this machine ${data.length === 1 ? 'is' : 'are'} not imported.`;
  return (
    <PageShell title="Import a pool" sentence={sentence} way={[['Storage', '/storage']]}>
      <div className="cistern-stack">
        {job && (
          <div role="status">
            {running && (
              <Progress title={job.title} value={job.percent ?? 0} helperText={job.step} aria-label={job.title} />
            )}
            {job.error && <ProblemAlert error={new Failure(job.error)} />}
            {job.state === 'interrupted' && <p>{job.title}: the appliance was restarted meanwhile.</p>}
            {job.kind === 'pool.export' && job.state === 'done' && (
              <p className="cistern-sentence">
                The pool “{(job.result as { pool: string }).pool}” is exported. Its disks can be taken to another
                machine.
              </p>
            )}
            {taken !== null && (
              <p className="cistern-sentence">
                The pool is imported. <Link to={poolPath(taken)}>To the pool “{taken}”</Link>
              </p>
            )}
          </div>
        )}
        {data === undefined && <Waiting on={{ error, refetch }} />}
        {data?.map((pool) => (
          <ImportCard
            key={pool.guid}
            pool={pool}
            busy={running === true}
            onStart={(started) => setParams({ job: started }, { replace: true })}
          />
        ))}
        {data?.length === 0 && !running && (
          <EmptyState headingLevel="h2" titleText="There is no pool to import">
            <EmptyStateBody>
              Connect the disks of one that was exported; it appears here automatically. A pool that is in use already
              is on the page <Link to="/storage">Storage</Link>.
            </EmptyStateBody>
          </EmptyState>
        )}
      </div>
    </PageShell>
  );
}
