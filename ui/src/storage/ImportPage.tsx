// Pools on disks of this machine that are not imported, what is wrong with each, and taking one over.
import {
  Breadcrumb,
  BreadcrumbItem,
  Button,
  Card,
  CardBody,
  CardTitle,
  Checkbox,
  EmptyState,
  EmptyStateBody,
  PageSection,
} from '@patternfly/react-core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { Link, useNavigate } from 'react-router';
import { answerOf, client, type Schemas } from '../api/client.ts';
import { useJob } from '../datasets/useJob.ts';
import { TextField } from '../forms/Field.tsx';
import { FormShell } from '../forms/FormShell.tsx';
import { PageLoading } from '../frame/PageLoading.tsx';
import { useMayNot } from '../frame/session.ts';
import { ProblemAlert } from '../words/ProblemAlert.tsx';
import { PageHead } from '../words/Sentence.tsx';
import { stateWords } from './DiskTile.tsx';
import { importableQuery, poolPath } from './queries.ts';

function Importable({ pool }: { pool: Schemas['ImportablePool'] }) {
  const mayNot = useMayNot('administrator');
  const navigate = useNavigate();
  const job = useJob();
  const [name, setName] = useState(pool.name);
  const [sure, setSure] = useState(false);
  const start = useMutation({
    mutationFn: () =>
      answerOf(
        client.POST('/api/pools/import', {
          body: { guid: pool.guid, ...(name !== pool.name && { name }), ...(sure && { force: true }) },
        }),
      ),
    onSuccess: (made) => job.watch(made.id),
  });
  useEffect(() => {
    if (job.done) void navigate(poolPath(name));
  }, [job.done, name, navigate]);
  const why =
    mayNot ??
    (pool.inUseElsewhere && !sure
      ? 'Make sure that no other machine uses it.'
      : !pool.inUseElsewhere && !['ONLINE', 'DEGRADED'].includes(pool.state)
        ? 'Too many of its devices are missing.'
        : null);
  return (
    <Card component="section" aria-label={`Pool ${pool.name}`}>
      <CardTitle component="h2">{pool.name}</CardTitle>
      <CardBody>
        <div className="cistern-stack">
          <p className="cistern-sentence">{pool.sentence}</p>
          {pool.status && <p className="cistern-quiet">{pool.status}</p>}
          <ul className="cistern-plain">
            {pool.devices.map((device) => (
              <li key={device.name} style={{ paddingInlineStart: `${device.depth - 1}rem` }}>
                {device.name} {device.state !== '' && device.state !== 'ONLINE' && <em>{stateWords(device.state)}</em>}
              </li>
            ))}
          </ul>
          <FormShell
            submit="Import the pool"
            busy={start.isPending || job.running}
            error={start.error ?? job.error}
            mayNot={why}
            onSubmit={() => start.mutate()}
          >
            <TextField label="Name here" value={name} onChange={setName} autoComplete="off" />
            {pool.inUseElsewhere && (
              <Checkbox
                id={`force-${pool.guid}`}
                label="No other machine uses it"
                description="Two machines that write to one pool destroy it."
                isChecked={sure}
                onChange={(_event, checked) => setSure(checked)}
              />
            )}
          </FormShell>
        </div>
      </CardBody>
    </Card>
  );
}

export default function ImportPage() {
  const mayNot = useMayNot('administrator');
  const found = useQuery({ ...importableQuery, enabled: mayNot === null });
  return (
    <>
      <PageHead title="Import a pool" sentence="Pools on the disks of this machine that it does not use." />
      <PageSection>
        <Breadcrumb className="cistern-crumbs">
          <BreadcrumbItem>
            <Link to="/storage">Storage</Link>
          </BreadcrumbItem>
          <BreadcrumbItem isActive>Import a pool</BreadcrumbItem>
        </Breadcrumb>
        <div className="cistern-stack">
          {mayNot !== null && <p>{mayNot}</p>}
          {mayNot === null && found.data === undefined && (found.error ? null : <PageLoading />)}
          <ProblemAlert error={found.error} retry={() => void found.refetch()} />
          {found.data?.map((pool) => (
            <Importable key={pool.guid} pool={pool} />
          ))}
          {found.data?.length === 0 && (
            <EmptyState headingLevel="h2" titleText="There is no pool to import">
              <EmptyStateBody>Plug in the disks of one, then look again.</EmptyStateBody>
              <Button variant="secondary" onClick={() => void found.refetch()}>
                Look again
              </Button>
            </EmptyState>
          )}
        </div>
      </PageSection>
    </>
  );
}
