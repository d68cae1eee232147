// Replacing a disk, a step at a time: which one, the new one, and the resilver until all is well. What is under way is
// found again after a reload, because it is the pool's job and not this page's.
import {
  Alert,
  Breadcrumb,
  BreadcrumbItem,
  Button,
  Card,
  CardBody,
  CardTitle,
  PageSection,
  Progress,
  Radio,
} from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useParams, useSearchParams } from 'react-router';
import { answerOf, client } from '../api/client.ts';
import { Failure } from '../api/problem.ts';
import { disksQuery, jobsQuery } from '../api/queries.ts';
import { ConfirmByName } from '../forms/ConfirmByName.tsx';
import { FormShell } from '../forms/FormShell.tsx';
import { PageLoading } from '../frame/PageLoading.tsx';
import { useMayNot } from '../frame/session.ts';
import { bytes } from '../words/format.ts';
import { ProblemAlert } from '../words/ProblemAlert.tsx';
import { PageHead } from '../words/Sentence.tsx';
import { diskName } from './DiskTile.tsx';
import { poolPath, poolQuery, replaceQuery } from './queries.ts';

function Step({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <Card component="section" aria-label={title}>
      <CardTitle component="h2">{title}</CardTitle>
      <CardBody>
        <div className="cistern-stack">{children}</div>
      </CardBody>
    </Card>
  );
}

export default function ReplacePage() {
  const { name = '' } = useParams();
  const device = useSearchParams()[0].get('device') ?? '';
  const mayNot = useMayNot('administrator');
  const queries = useQueryClient();
  const [jobId, setJobId] = useState<string | null>(null);
  const [wanted, setWanted] = useState<string | null>(null);
  const [erasing, setErasing] = useState<string | null>(null);
  const pool = useQuery(poolQuery(name));
  const disks = useQuery(disksQuery);
  const jobs = useQuery({ ...jobsQuery, refetchInterval: 700 });
  const job =
    jobs.data?.find(({ id }) => id === jobId) ??
    jobs.data?.find(
      ({ kind, state, title }) => kind === 'disk.replace' && state === 'running' && title.includes(`“${name}”`),
    );
  const running = job?.state === 'running';
  const ended = jobId !== null && job?.state === 'done';
  const advice = useQuery({ ...replaceQuery(name, device), enabled: !running && !ended });
  const start = useMutation({
    mutationFn: (disk: string) =>
      answerOf(client.POST('/api/pools/{name}/replace', { params: { path: { name } }, body: { device, disk } })),
    onSuccess: async (made) => {
      setJobId(made.id);
      await queries.invalidateQueries({ queryKey: ['jobs'] });
    },
  });
  const cancel = useMutation({
    mutationFn: (id: string) => answerOf(client.POST('/api/jobs/{id}/cancel', { params: { path: { id } } })),
    onSettled: () => queries.invalidateQueries({ queryKey: ['jobs'] }),
  });
  const crumbs = (
    <Breadcrumb className="cistern-crumbs">
      <BreadcrumbItem>
        <Link to="/storage">Storage</Link>
      </BreadcrumbItem>
      <BreadcrumbItem>
        <Link to={poolPath(name)}>{name}</Link>
      </BreadcrumbItem>
      <BreadcrumbItem isActive>Replace a disk</BreadcrumbItem>
    </Breadcrumb>
  );
  const head = <PageHead title="Replace a disk" sentence={`In pool ${name}. It works meanwhile.`} />;
  if (running) {
    return (
      <>
        {head}
        <PageSection>
          {crumbs}
          <Step title="The new disk is being filled">
            <Progress
              value={job.percent ?? 0}
              title={job.step ?? 'Starting'}
              helperText={
                pool.data?.scan?.secondsLeft
                  ? `About ${Math.max(1, Math.round(pool.data.scan.secondsLeft / 60))} min left, at the present pace.`
                  : undefined
              }
              aria-label="Resilver"
            />
            <p>You may leave this page; it goes on, and every page shows it under Jobs.</p>
            <div className="cistern-actions">
              {job.cancellable && (
                <Button variant="secondary" isLoading={cancel.isPending} onClick={() => cancel.mutate(job.id)}>
                  Stop, and take the new disk out again
                </Button>
              )}
            </div>
            <ProblemAlert error={cancel.error} />
          </Step>
        </PageSection>
      </>
    );
  }
  if (ended) {
    return (
      <>
        {head}
        <PageSection>
          {crumbs}
          <Step title="Done">
            <p className="cistern-sentence">{pool.data?.sentence}</p>
            <p>The old disk is no longer part of the pool and can be taken out.</p>
            <Link to={poolPath(name)}>To the pool</Link>
          </Step>
        </PageSection>
      </>
    );
  }
  if (advice.data === undefined) {
    return advice.error ? (
      <PageSection>
        {crumbs}
        <ProblemAlert error={advice.error} retry={() => void advice.refetch()} />
      </PageSection>
    ) : (
      <PageLoading />
    );
  }
  const { candidates, recommended, sentence, needsBytes, disk } = advice.data;
  const chosen = candidates.some((one) => one.disk === wanted && one.fits) ? wanted : recommended;
  const known = disks.data?.items ?? [];
  const old = known.find(({ id }) => id === disk);
  const failed = start.error ?? (jobId !== null && job?.error ? new Failure(job.error) : null);
  return (
    <>
      {head}
      <PageSection>
        {crumbs}
        <div className="cistern-stack">
          <Step title="The old disk">
            <p className="cistern-sentence">{sentence}</p>
            <p className="cistern-quiet">
              {old
                ? `${diskName(old)}, ${old.model}, ${old.path}`
                : `${device}. Its serial number is part of this name.`}
            </p>
          </Step>
          <Step title="The new disk">
            <p>
              Insert the new disk; it appears here by itself. It must hold {bytes(needsBytes)} or more, and everything
              on it is erased.
            </p>
            <FormShell
              submit="Replace the disk"
              busy={start.isPending}
              error={failed}
              mayNot={mayNot ?? (chosen === null ? 'No disk fits yet. Insert one.' : null)}
              onSubmit={() => (chosen === null ? undefined : start.mutate(chosen))}
              more={<Link to={poolPath(name)}>Cancel</Link>}
            >
              <fieldset className="cistern-choices">
                <legend>Which disk</legend>
                {candidates.map((one) => {
                  const facts = known.find(({ id }) => id === one.disk);
                  const foreign = facts?.state === 'in_use' && facts.pool === null;
                  return (
                    <div key={one.disk}>
                      <Radio
                        id={`with-${one.disk}`}
                        name="disk"
                        className="cistern-choice"
                        label={
                          <>
                            <strong>{facts ? diskName(facts) : one.disk}</strong> {bytes(one.bytes)}
                            {one.disk === recommended && <em> recommended</em>}
                          </>
                        }
                        description={one.reason}
                        isChecked={one.disk === chosen}
                        isDisabled={!one.fits}
                        onChange={() => setWanted(one.disk)}
                      />
                      {foreign && mayNot === null && (
                        <Button variant="link" isInline onClick={() => setErasing(one.disk)}>
                          Erase {facts ? diskName(facts) : one.disk}, so that it can be used
                        </Button>
                      )}
                    </div>
                  );
                })}
                {candidates.length === 0 && <p>There is no other disk in the machine yet.</p>}
              </fieldset>
            </FormShell>
          </Step>
          {advice.error && <Alert component="p" isInline variant="warning" title="The list may be old" />}
        </div>
      </PageSection>
      {erasing !== null && (
        <ConfirmByName
          title="Erase this disk?"
          name={erasing}
          action="Erase the disk"
          onConfirm={async () => {
            await answerOf(
              client.POST('/api/disks/{id}/wipe', { params: { path: { id: erasing } }, body: { confirm: erasing } }),
            );
            await queries.invalidateQueries({ queryKey: ['disks'] });
          }}
          onClose={() => setErasing(null)}
        >
          <p>{known.find(({ id }) => id === erasing)?.reason} Whatever is on it is lost.</p>
        </ConfirmByName>
      )}
    </>
  );
}
