// One pool: how it is, its disks and what can be done with each, its scrubs, and what was done to it.
import {
  Alert,
  Breadcrumb,
  BreadcrumbItem,
  Button,
  Card,
  CardBody,
  CardTitle,
  Checkbox,
  ExpandableSection,
  Modal,
  ModalBody,
  ModalFooter,
  ModalHeader,
  PageSection,
  Progress,
} from '@patternfly/react-core';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Link, useNavigate, useParams } from 'react-router';
import { answerOf, client, type Schemas } from '../api/client.ts';
import { disksQuery } from '../api/queries.ts';
import { useJob } from '../datasets/useJob.ts';
import { ConfirmByName } from '../forms/ConfirmByName.tsx';
import { Explained } from '../forms/Explained.tsx';
import { PageLoading } from '../frame/PageLoading.tsx';
import { useMayNot } from '../frame/session.ts';
import { Ago } from '../words/Ago.tsx';
import { bytes, percent, plural } from '../words/format.ts';
import { ProblemAlert } from '../words/ProblemAlert.tsx';
import { PageHead } from '../words/Sentence.tsx';
import { diskName, LightDot, lightOf, stateWords } from './DiskTile.tsx';
import { type Disk, damagedFilesQuery, historyQuery, type Pool, poolPath, poolQuery, type Vdev } from './queries.ts';
import { ScanControl } from './ScanControl.tsx';
import { ScrubSchedule } from './ScrubSchedule.tsx';
import { poolCondition } from './StoragePage.tsx';
import { VdevTree } from './VdevTree.tsx';

interface Placed {
  leaf: Vdev;
  parent: Vdev | null;
}

/** The disks of a pool, each with the group it is in. */
function placed(vdevs: readonly Vdev[], parent: Vdev | null = null): Placed[] {
  return vdevs.flatMap((vdev): Placed[] =>
    vdev.children.length > 0 ? placed(vdev.children, vdev) : vdev.type === 'disk' ? [{ leaf: vdev, parent }] : [],
  );
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Card component="section" aria-label={title}>
      <CardTitle component="h2">{title}</CardTitle>
      <CardBody>
        <div className="cistern-stack">{children}</div>
      </CardBody>
    </Card>
  );
}

type Verb = 'online' | 'offline' | 'detach' | 'clear';

function DiskRows({ pool, disks }: { pool: Pool; disks: readonly Disk[] }) {
  const administrator = useMayNot('administrator');
  const operator = useMayNot('operator');
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [detaching, setDetaching] = useState<string | null>(null);
  const act = useMutation({
    mutationFn: ({ verb, device }: { verb: Verb; device: string }) => {
      const call = { params: { path: { name: pool.name } }, body: { device } };
      switch (verb) {
        case 'online':
          return answerOf(client.POST('/api/pools/{name}/online', call));
        case 'offline':
          return answerOf(client.POST('/api/pools/{name}/offline', call));
        case 'detach':
          return answerOf(client.POST('/api/pools/{name}/detach', call));
        case 'clear':
          return answerOf(client.POST('/api/pools/{name}/clear', call));
      }
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['pools'] }),
  });
  const action = (text: string, why: string | null, go: () => void) => (
    <Explained why={why} key={text}>
      <Button
        variant="link"
        isInline
        isAriaDisabled={why !== null || act.isPending}
        onClick={() => (why === null ? go() : undefined)}
      >
        {text}
      </Button>
    </Explained>
  );
  return (
    <>
      <ProblemAlert error={act.error} />
      <Table aria-label="Disks of the pool" variant="compact" gridBreakPoint="grid-md">
        <Thead>
          <Tr>
            <Th>Disk</Th>
            <Th>State</Th>
            <Th>Errors</Th>
            <Th screenReaderText="Actions" />
          </Tr>
        </Thead>
        <Tbody>
          {placed(pool.vdevs).map(({ leaf, parent }) => {
            const disk = disks.find(({ id }) => id === leaf.diskId);
            const device = leaf.diskId ?? leaf.name;
            const name = disk ? diskName(disk) : device;
            const errors = leaf.readErrors + leaf.writeErrors + leaf.checksumErrors;
            const notSystem = pool.system ? 'A disk of the system pool is replaced by attaching another one.' : null;
            const away = leaf.state === 'OFFLINE';
            const side = parent !== null && ['mirror', 'replacing', 'spare'].includes(parent.type);
            return (
              <Tr key={leaf.name}>
                <Td dataLabel="Disk">
                  <div>
                    <LightDot light={lightOf(leaf.state)} /> <span title={device}>{name}</span>{' '}
                    <small className="cistern-quiet">
                      {[disk && bytes(disk.bytes), disk?.path, parent?.name].filter(Boolean).join(', ')}
                    </small>
                  </div>
                </Td>
                <Td dataLabel="State">{leaf.state === 'AVAIL' ? 'spare, ready' : stateWords(leaf.state)}</Td>
                <Td dataLabel="Errors">
                  {errors === 0
                    ? 'none'
                    : `${leaf.readErrors} read, ${leaf.writeErrors} write, ${leaf.checksumErrors} checksum`}
                </Td>
                <Td dataLabel="Actions">
                  <div className="cistern-actions">
                    {action('Replace', administrator ?? notSystem, () =>
                      navigate(`${poolPath(pool.name)}/replace?device=${encodeURIComponent(device)}`),
                    )}
                    {away
                      ? action('Take into use', operator, () => act.mutate({ verb: 'online', device }))
                      : action(
                          'Switch off',
                          administrator ?? (parent === null ? 'There is no second copy of what is on it.' : null),
                          () => act.mutate({ verb: 'offline', device }),
                        )}
                    {side &&
                      action('Detach', administrator, () => {
                        setDetaching(device);
                      })}
                    {errors > 0 && action('Clear errors', operator, () => act.mutate({ verb: 'clear', device }))}
                  </div>
                </Td>
              </Tr>
            );
          })}
        </Tbody>
      </Table>
      {detaching !== null && (
        <Modal isOpen variant="small" onClose={() => setDetaching(null)} aria-labelledby="detach-title">
          <ModalHeader title={`Take ${detaching} out of its mirror?`} labelId="detach-title" />
          <ModalBody>
            The mirror has one copy less then. The disk is free, and its data cannot be read from it any more.
          </ModalBody>
          <ModalFooter>
            <Button
              variant="danger"
              onClick={() => {
                act.mutate({ verb: 'detach', device: detaching });
                setDetaching(null);
              }}
            >
              Detach
            </Button>
            <Button variant="link" onClick={() => setDetaching(null)}>
              Cancel
            </Button>
          </ModalFooter>
        </Modal>
      )}
    </>
  );
}

/** The offer that every machine with one system disk and another free one gets. */
function SecondSystemDisk({ pool, disks }: { pool: Pool; disks: readonly Disk[] }) {
  const mayNot = useMayNot('administrator');
  const job = useJob();
  const [only] = placed(pool.vdevs);
  const fits = disks.filter((disk) => disk.state === 'available');
  const own = disks.find(({ id }) => id === only?.leaf.diskId);
  const large = fits.filter((disk) => own === undefined || disk.bytes >= own.bytes);
  const chosen = large[0];
  const start = useMutation({
    mutationFn: () =>
      answerOf(
        client.POST('/api/pools/{name}/attach', {
          params: { path: { name: pool.name } },
          body: { device: only?.leaf.diskId ?? only?.leaf.name ?? '', disk: chosen?.id ?? '' },
        }),
      ),
    onSuccess: (made) => job.watch(made.id),
  });
  const why = mayNot ?? (chosen === undefined ? 'No free disk is as large as the one the appliance runs from.' : null);
  if (job.running) {
    return (
      <Progress value={job.job?.percent ?? 0} title={job.job?.step ?? 'Starting'} aria-label="Adding a system disk" />
    );
  }
  return (
    <Alert
      component="p"
      isInline
      variant="info"
      title="The appliance runs from one disk"
      actionLinks={
        <Explained why={why}>
          <Button
            variant="link"
            isInline
            isAriaDisabled={why !== null}
            isLoading={start.isPending}
            onClick={() => (why === null ? start.mutate() : undefined)}
          >
            {chosen === undefined ? 'Add a second system disk' : `Use ${diskName(chosen)} as a second system disk`}
          </Button>
        </Explained>
      }
    >
      <p>
        If it fails, the appliance has to be set up anew. With a second one it goes on, and starts from either.
        Everything on that disk is erased.
      </p>
      <ProblemAlert error={start.error ?? job.error} />
    </Alert>
  );
}

function Settings({ pool }: { pool: Pool }) {
  const mayNot = useMayNot('administrator');
  const queries = useQueryClient();
  const set = useMutation({
    mutationFn: (body: Schemas['PropertiesInput']) =>
      answerOf(client.PUT('/api/pools/{name}/properties', { params: { path: { name: pool.name } }, body })),
    onSettled: () => queries.invalidateQueries({ queryKey: ['pools'] }),
  });
  const upgrade = useMutation({
    mutationFn: () => answerOf(client.POST('/api/pools/{name}/upgrade', { params: { path: { name: pool.name } } })),
    onSettled: () => queries.invalidateQueries({ queryKey: ['pools'] }),
  });
  const [asking, setAsking] = useState(false);
  return (
    <>
      <Checkbox
        id="autotrim"
        label="Tell disks at once which blocks are free (autotrim)"
        description="Keeps SSDs fast. Hard disks pass it over."
        isChecked={pool.properties.autotrim}
        isDisabled={mayNot !== null || set.isPending}
        onChange={(_event, checked) => set.mutate({ autotrim: checked })}
      />
      <Checkbox
        id="autoexpand"
        label="Grow when every disk of a group has grown (autoexpand)"
        description="After the last disk of a mirror was replaced by a larger one."
        isChecked={pool.properties.autoexpand}
        isDisabled={mayNot !== null || set.isPending}
        onChange={(_event, checked) => set.mutate({ autoexpand: checked })}
      />
      {pool.upgradable && (
        <p>
          This system knows features that the pool does not use.{' '}
          <Explained why={mayNot}>
            <Button
              variant="link"
              isInline
              isAriaDisabled={mayNot !== null}
              onClick={() => (mayNot === null ? setAsking(true) : undefined)}
            >
              Use them
            </Button>
          </Explained>
        </p>
      )}
      <ProblemAlert error={set.error ?? upgrade.error} />
      {asking && (
        <Modal isOpen variant="small" onClose={() => setAsking(false)} aria-labelledby="upgrade-title">
          <ModalHeader title={`Upgrade the features of ${pool.name}?`} labelId="upgrade-title" />
          <ModalBody>
            A system that is older than this one can no longer import the pool. There is no way back.
          </ModalBody>
          <ModalFooter>
            <Button
              variant="primary"
              onClick={() => {
                upgrade.mutate();
                setAsking(false);
              }}
            >
              Upgrade
            </Button>
            <Button variant="link" onClick={() => setAsking(false)}>
              Cancel
            </Button>
          </ModalFooter>
        </Modal>
      )}
    </>
  );
}

function History({ pool }: { pool: string }) {
  const { data, error } = useQuery(historyQuery(pool));
  if (data === undefined) return error ? <ProblemAlert error={error} /> : <PageLoading />;
  return (
    <Table aria-label="History" variant="compact" gridBreakPoint="grid-md">
      <Thead>
        <Tr>
          <Th>When</Th>
          <Th>Who</Th>
          <Th>What</Th>
        </Tr>
      </Thead>
      <Tbody>
        {data.slice(0, 100).map((line, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two lines may be alike in all they say
          <Tr key={`${line.time} ${at}`}>
            <Td dataLabel="When">
              <Ago time={line.time} />
            </Td>
            <Td dataLabel="Who">{line.by ?? 'ZFS'}</Td>
            <Td dataLabel="What">
              <code className="cistern-wrap">{line.text}</code>
            </Td>
          </Tr>
        ))}
      </Tbody>
    </Table>
  );
}

function Damaged({ pool }: { pool: Pool }) {
  const { data, error } = useQuery(damagedFilesQuery(pool.name));
  return (
    <Alert component="p" isInline variant="danger" title={`${plural(pool.errors, 'file')} cannot be read any more`}>
      <p>Restore them from a snapshot, a replica or a backup, then scrub the pool.</p>
      <ProblemAlert error={error} />
      <ul>
        {(data ?? []).map((file) => (
          <li key={file}>
            <code className="cistern-wrap">{file}</code>
          </li>
        ))}
      </ul>
    </Alert>
  );
}

function Actions({ pool }: { pool: Pool }) {
  const mayNot = useMayNot('administrator');
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [asking, setAsking] = useState<'export' | 'destroy' | null>(null);
  const why = mayNot ?? (pool.system ? 'The appliance itself lives on it.' : null);
  const done = async () => {
    await queries.invalidateQueries({ queryKey: ['jobs'] });
    await queries.invalidateQueries({ queryKey: ['pools'] });
    void navigate('/storage');
  };
  const params = { path: { name: pool.name } };
  return (
    <div className="cistern-actions">
      {(['export', 'destroy'] as const).map((what) => (
        <Explained why={why} key={what}>
          <Button
            variant="secondary"
            isDanger={what === 'destroy'}
            isAriaDisabled={why !== null}
            onClick={() => (why === null ? setAsking(what) : undefined)}
          >
            {what === 'export' ? 'Export' : 'Destroy'}
          </Button>
        </Explained>
      ))}
      {asking === 'export' && (
        <ConfirmByName
          title={`Export pool ${pool.name}?`}
          name={pool.name}
          action="Export the pool"
          onConfirm={async () => {
            await answerOf(client.POST('/api/pools/{name}/export', { params }));
            await done();
          }}
          onClose={() => setAsking(null)}
        >
          <p>
            What is on it cannot be reached until it is imported again, here or on another machine. Nothing is lost.
            {pool.telemetry && ' Measurements are neither stored nor shown meanwhile.'}
          </p>
        </ConfirmByName>
      )}
      {asking === 'destroy' && (
        <ConfirmByName
          title={`Destroy pool ${pool.name}?`}
          name={pool.name}
          action="Destroy the pool"
          onConfirm={async () => {
            await answerOf(
              client.DELETE('/api/pools/{name}', { params: { ...params, query: { confirm: pool.name } } }),
            );
            await done();
          }}
          onClose={() => setAsking(null)}
        >
          <p>
            Everything on it is lost: {bytes(pool.allocated)}, with all datasets and snapshots
            {pool.telemetry && ', and every measurement that was ever stored'}. There is no way back.
          </p>
        </ConfirmByName>
      )}
    </div>
  );
}

export default function PoolPage() {
  const { name = '' } = useParams();
  const pool = useQuery(poolQuery(name));
  const disks = useQuery(disksQuery);
  const [history, setHistory] = useState(false);
  const crumbs = (
    <Breadcrumb className="cistern-crumbs">
      <BreadcrumbItem>
        <Link to="/storage">Storage</Link>
      </BreadcrumbItem>
      <BreadcrumbItem isActive>{name}</BreadcrumbItem>
    </Breadcrumb>
  );
  if (pool.data === undefined) {
    return pool.error ? (
      <PageSection>
        {crumbs}
        <ProblemAlert error={pool.error} retry={() => void pool.refetch()} />
      </PageSection>
    ) : (
      <PageLoading />
    );
  }
  const known = disks.data?.items ?? [];
  const broken = placed(pool.data.vdevs).find(({ leaf }) => ['FAULTED', 'REMOVED', 'UNAVAIL'].includes(leaf.state));
  return (
    <>
      <PageHead
        title={pool.data.name}
        state={pool.data.errors > 0 ? 'critical' : poolCondition(pool.data)}
        sentence={
          <>
            {pool.data.sentence}
            {broken && !pool.data.system && (
              <Link
                className="cistern-next"
                to={`${poolPath(name)}/replace?device=${encodeURIComponent(broken.leaf.diskId ?? broken.leaf.name)}`}
              >
                Replace it
              </Link>
            )}
          </>
        }
        actions={<Actions pool={pool.data} />}
      />
      <PageSection>
        {crumbs}
        {pool.error && <ProblemAlert error={pool.error} stale />}
        <div className="cistern-stack">
          {pool.data.errors > 0 && <Damaged pool={pool.data} />}
          {pool.data.system && placed(pool.data.vdevs).length === 1 && (
            <SecondSystemDisk pool={pool.data} disks={known} />
          )}
          <Section title="Disks">
            <Progress
              value={pool.data.capacity * 100}
              title={`${bytes(pool.data.allocated)} of ${bytes(pool.data.bytes)} used`}
              label={percent(pool.data.capacity)}
              aria-label="Used"
            />
            <VdevTree vdevs={pool.data.vdevs} disks={known} />
            <DiskRows pool={pool.data} disks={known} />
          </Section>
          <Section title="Scrubs">
            <ScanControl pool={pool.data} />
            <ScrubSchedule pool={pool.data.name} />
          </Section>
          <Section title="Settings">
            <Settings pool={pool.data} />
          </Section>
          <ExpandableSection
            toggleText="History"
            isExpanded={history}
            onToggle={(_event, expanded) => setHistory(expanded)}
          >
            {history && <History pool={pool.data.name} />}
          </ExpandableSection>
        </div>
      </PageSection>
    </>
  );
}
