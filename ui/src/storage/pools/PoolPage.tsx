// One pool: how it is, its disks with what can be done to each, its scrubs, its properties, and what was done to it.
import { Alert, Button, Label, Progress } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { Link, useNavigate, useParams } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { ifMatch } from '../../api/edits.ts';
import { disksQuery, jobsQuery } from '../../api/queries.ts';
import { useMayNot } from '../../api/session.ts';
import { Confirm } from '../../forms/Confirm.tsx';
import { ConfirmByName } from '../../forms/ConfirmByName.tsx';
import { Explained } from '../../forms/Explained.tsx';
import NoSuchPage from '../../shells/NoSuchPage.tsx';
import { PageShell } from '../../shells/PageShell.tsx';
import { type Part, PartTabs } from '../../shells/PartTabs.tsx';
import { PageLoading, Waiting } from '../../shells/Waiting.tsx';
import { bytes, percent, plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { stateWords } from '../disks/DiskTile.tsx';
import { AttachDisk } from './AttachDisk.tsx';
import { DeviceMenu } from './DeviceMenu.tsx';
import { PoolCrumbs } from './PoolCrumbs.tsx';
import { PoolProperties } from './PoolProperties.tsx';
import {
  broken,
  type Disk,
  damagedFilesQuery,
  deviceOf,
  isAbout,
  type Pool,
  poolPath,
  poolQuery,
  replacePath,
} from './queries.ts';
import { ScanProgress } from './ScanProgress.tsx';
import { Scrubs } from './Scrubs.tsx';
import { usePoolAction } from './usePoolAction.ts';
import { VdevTree } from './VdevTree.tsx';
import { poolCondition } from './words.ts';

const PoolHistory = lazy(() => import('./PoolHistory.tsx'));

const tabs = [
  ['', 'Disks'],
  ['history', 'History'],
] as const;

function Actions({ pool }: { pool: Pool }) {
  const mayNot = useMayNot('administrator');
  const navigate = useNavigate();
  const [asked, setAsked] = useState<'export' | 'destroy' | null>(null);
  const why = mayNot ?? (pool.system ? 'The appliance itself lives on it.' : null);
  const path = { params: { path: { name: pool.name } } };
  return (
    <div className="cistern-actions">
      <Explained why={mayNot}>
        <Button
          variant="secondary"
          isAriaDisabled={mayNot !== null}
          onClick={() => void navigate(poolPath(pool.name, 'add'))}
        >
          Add disks…
        </Button>
      </Explained>
      <Explained why={why}>
        <Button variant="secondary" isAriaDisabled={why !== null} onClick={() => setAsked('export')}>
          Export
        </Button>
      </Explained>
      <Explained why={why}>
        <Button variant="secondary" isDanger isAriaDisabled={why !== null} onClick={() => setAsked('destroy')}>
          Destroy
        </Button>
      </Explained>
      {asked === 'export' && (
        <Confirm
          title={`Export “${pool.name}”?`}
          action="Export the pool"
          onClose={() => setAsked(null)}
          onConfirm={async () => {
            const { id } = await answerOf(client.POST('/api/pools/{name}/export', path));
            void navigate(`/storage/import?job=${id}`);
          }}
        >
          <p>
            The appliance releases it: its {bytes(pool.allocated)} stay on its disks, but cannot be reached here until
            it is imported again. Another machine can import it.
          </p>
          {pool.telemetry && <p>The measurements are on it. None are taken in until it is back.</p>}
        </Confirm>
      )}
      {asked === 'destroy' && (
        <ConfirmByName
          title={`Destroy “${pool.name}”?`}
          name={pool.name}
          action="Destroy the pool"
          onClose={() => setAsked(null)}
          onConfirm={async () => {
            await answerOf(
              client.DELETE('/api/pools/{name}', {
                params: { path: { name: pool.name }, query: { confirm: pool.name }, header: ifMatch(pool) },
              }),
            );
            void navigate('/storage');
          }}
        >
          <p>
            {bytes(pool.allocated)} are lost: every dataset and every snapshot on it
            {pool.telemetry && ', and the measurements taken so far'}. This cannot be undone.
          </p>
        </ConfirmByName>
      )}
    </div>
  );
}

/** What runs now, and the buttons that start, hold and end a scrub. */
function ScanControl({ pool }: { pool: Pool }) {
  const mayNot = useMayNot('operator');
  const act = usePoolAction();
  const scan = pool.scan;
  const running = scan?.state === 'scanning' ? scan : null;
  const scrub = (action: 'start' | 'pause' | 'stop') =>
    act.mutate(() =>
      answerOf(client.POST('/api/pools/{name}/scrub', { params: { path: { name: pool.name } }, body: { action } })),
    );
  const why =
    mayNot ??
    (pool.state === 'SUSPENDED' || pool.state === 'FAULTED' ? `The pool is ${stateWords(pool.state)}.` : null);
  const resilver = running?.kind === 'resilver';
  const button = (title: string, action: 'start' | 'pause' | 'stop', whyNot = why) => (
    <Explained why={whyNot}>
      <Button
        variant="secondary"
        isAriaDisabled={whyNot !== null}
        isLoading={act.isPending}
        onClick={() => scrub(action)}
      >
        {title}
      </Button>
    </Explained>
  );
  return (
    <section aria-label="Scrub and resilver">
      {scan ? <ScanProgress scan={scan} /> : <p>It has never been scrubbed.</p>}
      <div className="cistern-actions">
        {(running === null || resilver) &&
          button('Scrub now', 'start', why ?? (resilver ? 'Scrub it when the resilver is done.' : null))}
        {running?.kind === 'scrub' && (
          <>
            {running.paused ? button('Go on', 'start') : button('Pause', 'pause')}
            {button('Stop', 'stop')}
          </>
        )}
      </div>
      <ProblemAlert error={act.error} />
    </section>
  );
}

function DamagedFiles({ pool, errors }: { pool: string; errors: number }) {
  const { data, error } = useQuery(damagedFilesQuery(pool));
  return (
    <Alert
      component="h2"
      isInline
      variant="danger"
      title={
        data
          ? `${plural(data.length, 'file')} cannot be read any more`
          : `Files cannot be read any more: ${plural(errors, 'error')}`
      }
    >
      <p>
        No sound copy of them is left on the pool. Restore them from a snapshot or a backup, then scrub the pool: they
        leave this list when a scrub finds them whole.
      </p>
      <ProblemAlert error={error} />
      <ul className="cistern-list cistern-name" aria-label="Damaged files">
        {data?.slice(0, 100).map((file) => (
          <li key={file}>
            <code>{file}</code>
          </li>
        ))}
      </ul>
      {data && data.length > 100 && <p>And {plural(data.length - 100, 'more')}.</p>}
    </Alert>
  );
}

/** The appliance is on a single disk: it should have two. */
function SecondSystemDisk({ pool, busy }: { pool: Pool; busy: boolean }) {
  const mayNot = useMayNot('administrator');
  const [open, setOpen] = useState(false);
  const only = pool.vdevs[0];
  if (!pool.system || pool.vdevs.length !== 1 || only === undefined || only.type !== 'disk' || busy) return null;
  return (
    <Alert component="h2" isInline variant="info" title="The appliance is on a single disk">
      <p>When that disk fails, it does not start any more. With a second one it runs on, and starts from either.</p>
      <div className="cistern-actions">
        <Explained why={mayNot}>
          <Button isAriaDisabled={mayNot !== null} onClick={() => setOpen(true)}>
            Add a second system disk
          </Button>
        </Explained>
      </div>
      {open && <AttachDisk pool={pool} beside={only} onClose={() => setOpen(false)} />}
    </Alert>
  );
}

function Upgrade({ pool }: { pool: Pool }) {
  const mayNot = useMayNot('administrator');
  const act = usePoolAction();
  const [open, setOpen] = useState(false);
  return (
    <Alert component="h2" isInline variant="info" title="This system knows features that the pool does not use">
      <p>It works as it is. Upgrade it only when no older system needs to import it.</p>
      <div className="cistern-actions">
        <Explained why={mayNot}>
          <Button variant="secondary" isAriaDisabled={mayNot !== null} onClick={() => setOpen(true)}>
            Upgrade features
          </Button>
        </Explained>
      </div>
      {open && (
        <Confirm
          title={`Upgrade the features of “${pool.name}”?`}
          action="Upgrade"
          danger
          onClose={() => setOpen(false)}
          onConfirm={() =>
            act.mutateAsync(() =>
              answerOf(client.POST('/api/pools/{name}/upgrade', { params: { path: { name: pool.name } } })),
            )
          }
        >
          <p>
            An older system, an earlier version of the appliance among them, can no longer import it then. This cannot
            be undone. Nothing on the pool is changed.
          </p>
        </Confirm>
      )}
    </Alert>
  );
}

function Overview({ pool, disks }: { pool: Pool; disks: readonly Disk[] }) {
  const jobs = useQuery(jobsQuery).data ?? [];
  const mine = jobs.filter((job) => isAbout(job, pool));
  const act = usePoolAction();
  const running = mine.filter((job) => job.state === 'running');
  const failed = mine[0]?.state === 'failed' ? mine[0] : undefined;
  return (
    <div className="cistern-stack">
      {pool.status && (
        <Alert
          component="p"
          isInline
          variant={pool.state === 'DEGRADED' ? 'warning' : pool.state === 'ONLINE' ? 'info' : 'danger'}
          title={`The pool is ${stateWords(pool.state)}`}
        >
          <p>{pool.status}</p>
          {pool.action && <p>{pool.action}</p>}
        </Alert>
      )}
      {pool.errors > 0 && <DamagedFiles pool={pool.name} errors={pool.errors} />}
      {running.map((job) => (
        <div key={job.id} role="status">
          <Progress title={job.title} value={job.percent ?? 0} helperText={job.step} aria-label={job.title} />
        </div>
      ))}
      {failed?.error && (
        <Alert component="p" isInline variant="warning" title={`${failed.title}: it failed`}>
          {failed.error.detail}
        </Alert>
      )}
      <SecondSystemDisk pool={pool} busy={running.length > 0} />
      <div>
        <Progress
          value={pool.capacity * 100}
          title={`${bytes(pool.allocated)} of ${bytes(pool.bytes)} used`}
          label={percent(pool.capacity)}
          variant={pool.capacity > 0.9 ? 'danger' : pool.capacity > 0.8 ? 'warning' : undefined}
          aria-label={`Pool ${pool.name}: used`}
        />
        <VdevTree
          vdevs={pool.vdevs}
          disks={disks}
          actions={(vdev, parent) =>
            vdev.type === 'disk' && (
              <DeviceMenu
                pool={pool}
                vdev={vdev}
                parent={parent}
                disk={disks.find(({ id }) => id === vdev.diskId)}
                act={act.mutate}
              />
            )
          }
        />
        <ProblemAlert error={act.error} />
        <ScanControl pool={pool} />
      </div>
      {pool.upgradable && <Upgrade pool={pool} />}
      <Scrubs pool={pool.name} />
      <PoolProperties pool={pool} />
    </div>
  );
}

export default function PoolPage() {
  const { name = '', tab = '' } = useParams();
  const pool = useQuery(poolQuery(name));
  const disks = useQuery(disksQuery);
  if (!tabs.some(([id]) => id === tab)) return <NoSuchPage />;
  if (pool.data === undefined) {
    return (
      <Waiting on={pool} page>
        <PoolCrumbs name={name} />
      </Waiting>
    );
  }
  const wants = pool.data.system ? undefined : broken(pool.data.vdevs)[0];
  return (
    <PageShell
      title={name}
      state={pool.data.errors > 0 ? 'critical' : poolCondition(pool.data)}
      sentence={
        <>
          {pool.data.sentence}
          {wants && (
            <Link className="cistern-next" to={replacePath(name, deviceOf(wants))}>
              Replace it
            </Link>
          )}{' '}
          {pool.data.system && (
            <Label isCompact title="The appliance itself lives on this pool">
              system
            </Label>
          )}
          {pool.data.telemetry && (
            <Label isCompact color="blue" title="The measurements are kept here">
              telemetry
            </Label>
          )}
        </>
      }
      actions={<Actions pool={pool.data} />}
      tabs={
        <PartTabs
          of="Pool"
          active={tab}
          parts={tabs.map(([id, title]): Part<string> => [id, title, poolPath(name, id)])}
        />
      }
    >
      <PoolCrumbs name={name} />
      {pool.error && <ProblemAlert error={pool.error} stale />}
      {tab === '' && <Overview pool={pool.data} disks={disks.data?.items ?? []} />}
      {tab === 'history' && (
        <Suspense fallback={<PageLoading />}>
          <PoolHistory pool={name} />
        </Suspense>
      )}
    </PageShell>
  );
}
