// A disk replaced, from what is wrong with it to a pool that is healthy again. Where one is, is in the URL: the device, and
// the job once there is one; a replacement that runs already is found among the jobs.
import {
  Alert,
  Button,
  DescriptionList,
  DescriptionListDescription,
  DescriptionListGroup,
  DescriptionListTerm,
  Progress,
  ProgressStep,
  ProgressStepper,
  Radio,
  Title,
} from '@patternfly/react-core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { Link, useParams, useSearchParams } from 'react-router';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { Failure } from '../../api/problem.ts';
import { disksQuery, jobsQuery } from '../../api/queries.ts';
import { useMayNot } from '../../api/session.ts';
import { Explained } from '../../forms/Explained.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { PageShell } from '../../shells/PageShell.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { bytes, exactBytes } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { diskName, stateWords } from '../disks/DiskTile.tsx';
import { EraseDisk } from '../disks/EraseDisk.tsx';
import { PoolCrumbs } from './PoolCrumbs.tsx';
import {
  broken,
  type Disk,
  deviceOf,
  devices,
  isAbout,
  type Job,
  type Pool,
  poolPath,
  poolQuery,
  replacePath,
  replaceQuery,
} from './queries.ts';
import { ScanProgress } from './ScanProgress.tsx';
import { useStorageRead } from './usePoolAction.ts';
import { poolCondition } from './words.ts';

type Advice = Schemas['ReplaceAdvice'];
type Candidate = Schemas['ReplaceCandidate'];

const steps = ['The old disk', 'The new disk', 'Resilver', 'Done'];

function Steps({ at, failed = false }: { at: number; failed?: boolean }) {
  return (
    <ProgressStepper aria-label="Replacing a disk" className="cistern-steps-along">
      {steps.map((title, index) => (
        <ProgressStep
          key={title}
          id={`replace-step-${index}`}
          titleId={`replace-step-title-${index}`}
          variant={
            index < at ? 'success' : index > at ? 'pending' : failed ? 'danger' : index === 3 ? 'success' : 'info'
          }
          isCurrent={index === at}
          aria-label={`${title}: ${index < at ? 'done' : index > at ? 'not yet' : 'now'}`}
        >
          {title}
        </ProgressStep>
      ))}
    </ProgressStepper>
  );
}

function OldDisk({ advice, disk }: { advice: Advice; disk: Disk | undefined }) {
  const facts: [string, string][] = [
    ['State', stateWords(advice.state)],
    // Of a disk that is gone only the name is left that the pool has for it.
    ['Disk', advice.disk ?? advice.device.replace(/^.*\//, '')],
    ...(disk
      ? ([
          ['Serial number', disk.serial || 'unknown'],
          ['Model', disk.model || 'unknown'],
          ['Path', disk.path],
          ['Size', bytes(disk.bytes)],
        ] as [string, string][])
      : []),
  ];
  return (
    <section aria-label="The old disk">
      <Title headingLevel="h2">The old disk</Title>
      <DescriptionList isHorizontal isCompact>
        {facts.map(([term, value]) => (
          <DescriptionListGroup key={term}>
            <DescriptionListTerm>{term}</DescriptionListTerm>
            <DescriptionListDescription className="cistern-name">{value}</DescriptionListDescription>
          </DescriptionListGroup>
        ))}
      </DescriptionList>
      {advice.state === 'ONLINE' ? (
        <p>It stays in use until the new disk holds everything. Leave it in the machine until then.</p>
      ) : (
        <p>It may be taken out of the machine now: look for the serial number on its label.</p>
      )}
    </section>
  );
}

function CandidateChoice(props: {
  candidate: Candidate;
  disk: Disk | undefined;
  recommended: boolean;
  chosen: boolean;
  mayNot: string | null;
  onChoose: () => void;
  onErase: () => void;
}) {
  const { candidate, disk, mayNot } = props;
  const foreign = !candidate.fits && disk?.state === 'in_use' && disk.pool === null;
  return (
    <div className="cistern-choice">
      <Radio
        id={`replace-${candidate.disk}`}
        name="replace"
        label={
          <>
            <strong>{disk ? diskName(disk) : candidate.disk}</strong>{' '}
            <span title={exactBytes(candidate.bytes)}>{bytes(candidate.bytes)}</span>
            {props.recommended && <em> recommended</em>}
          </>
        }
        description={`${candidate.reason}${disk ? ` ${disk.model}, ${disk.path}.` : ''}`}
        isChecked={props.chosen}
        isDisabled={!candidate.fits}
        onChange={props.onChoose}
      />
      {foreign && (
        <Explained why={mayNot}>
          <Button
            variant="link"
            isDanger
            isInline
            isAriaDisabled={mayNot !== null}
            aria-label={`Erase it… ${disk ? diskName(disk) : candidate.disk}`}
            onClick={props.onErase}
          >
            Erase it…
          </Button>
        </Explained>
      )}
    </div>
  );
}

function Choose(props: { pool: Pool; device: string; disks: readonly Disk[]; onStart: (job: Job) => void }) {
  const { pool, device, disks } = props;
  const mayNot = useMayNot('administrator');
  const read = useStorageRead();
  const { data, error, refetch } = useQuery(replaceQuery(pool.name, device));
  const [wanted, setWanted] = useState<string | null>(null);
  const [erasing, setErasing] = useState<Candidate | null>(null);
  const start = useMutation({
    mutationFn: (disk: string) =>
      answerOf(
        client.POST('/api/pools/{name}/replace', { params: { path: { name: pool.name } }, body: { device, disk } }),
      ),
    onSuccess: props.onStart,
    onSettled: read,
  });
  if (data === undefined) return <Waiting on={{ error, refetch }} />;
  const chosen =
    data.candidates.find((one) => one.disk === wanted && one.fits) ??
    data.candidates.find((one) => one.disk === data.recommended);
  const diskOf = (id: string) => disks.find((disk) => disk.id === id);
  return (
    <div className="cistern-stack">
      <p className="cistern-sentence">{data.sentence}</p>
      <OldDisk advice={data} disk={data.disk === null ? undefined : diskOf(data.disk)} />
      <section aria-label="The new disk">
        <Title headingLevel="h2">The new disk</Title>
        <FormShell
          submit="Replace the disk"
          busy={start.isPending}
          error={start.error}
          mayNot={mayNot ?? (chosen ? null : 'Insert a new disk, or choose one, first.')}
          onSubmit={() => chosen && start.mutate(chosen.disk)}
          cancel={poolPath(pool.name)}
        >
          <p>
            Insert the new disk; it appears here automatically. It must hold at least {bytes(data.needsBytes)}.
            Everything on it is erased.
          </p>
          <fieldset className="cistern-choices" aria-live="polite">
            <legend>Disks that could take its place</legend>
            {data.candidates.map((one) => (
              <CandidateChoice
                key={one.disk}
                candidate={one}
                disk={diskOf(one.disk)}
                recommended={one.disk === data.recommended}
                chosen={one.disk === chosen?.disk}
                mayNot={mayNot}
                onChoose={() => setWanted(one.disk)}
                onErase={() => setErasing(one)}
              />
            ))}
            {data.candidates.length === 0 && <p className="cistern-quiet">No disk is free yet.</p>}
          </fieldset>
        </FormShell>
      </section>
      {erasing && (
        <EraseDisk
          disk={{ id: erasing.disk, bytes: erasing.bytes }}
          reason={erasing.reason}
          onClose={() => setErasing(null)}
        />
      )}
    </div>
  );
}

function Running({ pool, job }: { pool: Pool; job: Job }) {
  const mayNot = useMayNot('administrator');
  const read = useStorageRead();
  const cancel = useMutation({
    mutationFn: () => answerOf(client.POST('/api/jobs/{id}/cancel', { params: { path: { id: job.id } } })),
    onSettled: read,
  });
  const scan = pool.scan?.kind === 'resilver' && pool.scan.state === 'scanning' ? pool.scan : null;
  return (
    <div className="cistern-stack">
      <p className="cistern-sentence cistern-name">{job.title}</p>
      <div role="status">
        {scan ? (
          <ScanProgress scan={scan} />
        ) : (
          <Progress title={job.step ?? 'Starting'} value={job.percent ?? 0} aria-label="Resilver" />
        )}
      </div>
      <p>
        The pool works meanwhile. You can leave this page: the resilver goes on, and when the appliance is restarted.
      </p>
      <ProblemAlert error={cancel.error} />
      {job.cancellable && (
        <div className="cistern-actions">
          <Explained why={mayNot}>
            <Button
              variant="secondary"
              isAriaDisabled={mayNot !== null}
              isLoading={cancel.isPending}
              onClick={() => cancel.mutate()}
            >
              Cancel the replacement
            </Button>
          </Explained>
          <span className="cistern-quiet">The new disk is free again then, and the pool is as it was before.</span>
        </div>
      )}
    </div>
  );
}

function Done({ pool }: { pool: Pool }) {
  const next = broken(pool.vdevs)[0];
  return (
    <div className="cistern-stack" role="status">
      <p className="cistern-sentence">
        {pool.state === 'ONLINE' ? 'Done: the pool is healthy again.' : `The disk is replaced. ${pool.sentence}`}
      </p>
      <p>The old disk is not needed any more.</p>
      <div className="cistern-actions">
        {next && <Link to={replacePath(pool.name, deviceOf(next))}>Replace {deviceOf(next)} too</Link>}
        <Link to={poolPath(pool.name)}>To the pool “{pool.name}”</Link>
      </div>
    </div>
  );
}

/** A resilver that no job follows any more: the appliance was restarted, or it was begun on the command line. */
function Followed({ pool }: { pool: Pool }) {
  return (
    <div className="cistern-stack" role="status">
      <p className="cistern-sentence">The disk is being replaced.</p>
      {pool.scan && <ScanProgress scan={pool.scan} />}
      <Link to={poolPath(pool.name)}>To the pool “{pool.name}”</Link>
    </div>
  );
}

const wordsOf: Record<string, string> = {
  cancelled: 'The replacement was cancelled. The new disk is free again.',
  interrupted: 'The appliance was restarted meanwhile. A resilver that had begun goes on.',
};

function Ended({ job }: { job: Job }) {
  if (job.state === 'failed')
    return <ProblemAlert error={job.error ? new Failure(job.error) : new Error('It failed.')} />;
  return <Alert component="p" isInline variant="info" title={wordsOf[job.state] ?? `It was ${job.state}.`} />;
}

export default function ReplacePage() {
  const { name = '' } = useParams();
  const [params, setParams] = useSearchParams();
  const device = params.get('device') ?? '';
  const known = params.get('job');
  const pool = useQuery(poolQuery(name));
  const disks = useQuery({ ...disksQuery, refetchInterval: 3_000 });
  const jobs = useQuery(jobsQuery);
  const running = jobs.data?.find(
    (job) =>
      job.kind === 'disk.replace' && job.state === 'running' && pool.data !== undefined && isAbout(job, pool.data),
  );
  const job = jobs.data?.find(({ id }) => id === known) ?? running;
  // What runs is put into the URL, so that its end is seen after a reload too.
  useEffect(() => {
    if (running === undefined || known !== null) return;
    setParams((before) => new URLSearchParams({ ...Object.fromEntries(before), job: running.id }), { replace: true });
  }, [running, known, setParams]);
  const ended = job !== undefined && job.state !== 'running';
  const read = useStorageRead();
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the job has ended
  useEffect(() => {
    if (ended) void read();
  }, [ended]);

  if (pool.data === undefined || jobs.data === undefined) {
    const error = pool.error ?? jobs.error;
    return (
      <Waiting on={{ error, refetch: pool.refetch }} page>
        <PoolCrumbs name={name} last="Replace a disk" />
      </Waiting>
    );
  }
  const found = devices(pool.data.vdevs).find(({ leaf }) => [leaf.name, leaf.diskId, leaf.path].includes(device));
  const beingReplaced = found?.parent?.type === 'replacing';
  const done = job?.state === 'done';
  const at = job?.state === 'running' || (beingReplaced && !done) ? 2 : done ? 3 : 1;
  return (
    <PageShell title={`Replace a disk of “${name}”`} state={poolCondition(pool.data)} sentence={pool.data.sentence}>
      <PoolCrumbs name={name} last="Replace a disk" />
      <div className="cistern-stack">
        <Steps at={at} failed={job?.state === 'failed' && at === 2} />
        {job && ended && !done && <Ended job={job} />}
        {job?.state === 'running' ? (
          <Running pool={pool.data} job={job} />
        ) : done ? (
          <Done pool={pool.data} />
        ) : beingReplaced ? (
          <Followed pool={pool.data} />
        ) : found === undefined ? (
          <Which pool={pool.data} device={device} />
        ) : (
          <Choose
            pool={pool.data}
            device={device}
            disks={disks.data?.items ?? []}
            onStart={(started) => setParams(new URLSearchParams({ device, job: started.id }), { replace: true })}
          />
        )}
      </div>
    </PageShell>
  );
}

/** No device, or one that the pool does not have (any more). */
function Which({ pool, device }: { pool: Pool; device: string }) {
  return (
    <section className="cistern-stack">
      <p className="cistern-sentence">
        {device === '' ? 'Which disk is to be replaced?' : `The pool “${pool.name}” has no disk ${device} any more.`}
      </p>
      <ul className="cistern-list cistern-name" aria-label="Disks of the pool">
        {devices(pool.vdevs)
          .filter(({ parent }) => parent === null || !['spare', 'log', 'cache'].includes(parent.type))
          .map(({ leaf }) => (
            <li key={leaf.name}>
              <Link to={replacePath(pool.name, deviceOf(leaf))}>{deviceOf(leaf)}</Link>, {stateWords(leaf.state)}
            </li>
          ))}
      </ul>
    </section>
  );
}
