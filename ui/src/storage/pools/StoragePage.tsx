// The pools, drawn; and every disk of the machine.
import {
  Alert,
  Button,
  Card,
  CardBody,
  CardTitle,
  DescriptionList,
  DescriptionListDescription,
  DescriptionListGroup,
  DescriptionListTerm,
  EmptyState,
  EmptyStateBody,
  ExpandableSection,
  Flex,
  Label,
  Progress,
  Title,
} from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from 'react-router';
import type { Schemas } from '../../api/client.ts';
import { disksQuery, poolsQuery } from '../../api/queries.ts';
import { useMayNot } from '../../api/session.ts';
import { Explained } from '../../forms/Explained.tsx';
import { ListTable } from '../../shells/ListTable.tsx';
import { PageShell } from '../../shells/PageShell.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { type Condition, ConditionIcon } from '../../words/ConditionIcon.tsx';
import { bytes, digits, duration, exactBytes, percent, plural } from '../../words/format.ts';
import { diskName, LightDot, stateWords } from '../disks/DiskTile.tsx';
import { StorageTabs } from '../StorageTabs.tsx';
import { diskPath, poolPath } from './queries.ts';
import { ScanProgress, scanWords } from './ScanProgress.tsx';
import { VdevTree } from './VdevTree.tsx';
import { diskUse, poolCondition } from './words.ts';

type Disk = Schemas['Disk'];
type Pool = Schemas['Pool'];

function PoolCard({ pool, disks }: { pool: Pool; disks: readonly Disk[] }) {
  return (
    <Card component="section" aria-label={`Pool ${pool.name}`} className="cistern-pool">
      <CardTitle component="h2">
        <Flex gap={{ default: 'gapSm' }} alignItems={{ default: 'alignItemsCenter' }}>
          <ConditionIcon state={poolCondition(pool)} />
          <Link to={poolPath(pool.name)}>{pool.name}</Link>
          {pool.system && (
            <Label isCompact title="The appliance itself lives on this pool">
              system
            </Label>
          )}
          {pool.telemetry && (
            <Label isCompact color="blue" title="The measurements are kept here">
              telemetry
            </Label>
          )}
        </Flex>
      </CardTitle>
      <CardBody>
        <p className="cistern-sentence">{pool.sentence}</p>
        {pool.status && (
          <Alert
            component="p"
            isInline
            variant={pool.state === 'DEGRADED' ? 'warning' : 'danger'}
            title={`The pool is ${stateWords(pool.state)}`}
          >
            <p>{pool.status}</p>
            {pool.action && <p>{pool.action}</p>}
          </Alert>
        )}
        <Progress
          value={pool.capacity * 100}
          title={`${bytes(pool.allocated)} of ${bytes(pool.bytes)} used`}
          label={percent(pool.capacity)}
          variant={pool.capacity > 0.9 ? 'danger' : pool.capacity > 0.8 ? 'warning' : undefined}
          aria-label={`Pool ${pool.name}: used`}
        />
        <VdevTree vdevs={pool.vdevs} disks={disks} />
        <ExpandableSection toggleText="Details">
          <DescriptionList isHorizontal isCompact columnModifier={{ lg: '2Col' }}>
            {(
              [
                [
                  'Free',
                  <span key="f" title={exactBytes(pool.free)}>
                    {bytes(pool.free)}
                  </span>,
                ],
                [
                  'Compression',
                  `${pool.compression ?? 'unknown'}${pool.compressRatio ? `, ${digits(pool.compressRatio)}×` : ''}`,
                ],
                ['Fragmentation', pool.fragmentation === null ? 'unknown' : percent(pool.fragmentation)],
                ['Data errors', pool.errors === 0 ? 'none' : pool.errors.toLocaleString('en-US')],
                ['Scrub', pool.scan ? scanWords(pool.scan) : 'never'],
              ] as const
            ).map(([term, value]) => (
              <DescriptionListGroup key={term}>
                <DescriptionListTerm>{term}</DescriptionListTerm>
                <DescriptionListDescription>{value}</DescriptionListDescription>
              </DescriptionListGroup>
            ))}
          </DescriptionList>
        </ExpandableSection>
        {pool.scan?.state === 'scanning' && <ScanProgress scan={pool.scan} />}
      </CardBody>
    </Card>
  );
}

function DiskTable({ disks }: { disks: readonly Disk[] }) {
  return (
    <ListTable
      label="Disks"
      rows={disks}
      keyOf={(disk) => disk.id}
      columns={[
        {
          title: 'Disk',
          cell: (disk) => (
            <div>
              <span title={disk.id}>
                <LightDot light={disk.state === 'in_pool' || disk.state === 'system' ? 'good' : 'off'} />{' '}
                <Link to={diskPath(disk.id)}>{diskName(disk)}</Link>
              </span>{' '}
              <small className="cistern-quiet">{disk.model}</small>
              {disk.wwn && <div className="cistern-quiet cistern-wrap">WWN {disk.wwn}</div>}
            </div>
          ),
        },
        { title: 'Size', cell: (disk) => <span title={exactBytes(disk.bytes)}>{bytes(disk.bytes)}</span> },
        {
          title: 'Kind',
          cell: (disk) =>
            [disk.rotational === null ? null : disk.rotational ? 'hard disk' : 'SSD', disk.bus]
              .filter(Boolean)
              .join(', '),
        },
        {
          title: 'Use',
          cell: (disk) => (
            <>
              <div>
                {diskUse(disk)}
                {disk.reason && disk.pool === null && <div className="cistern-quiet">{disk.reason}</div>}
              </div>
            </>
          ),
        },
        {
          title: 'Path and place',
          cell: (disk) => (
            <div className="cistern-wrap">
              <code>{disk.path}</code>
              {disk.place && <div className="cistern-quiet">{disk.place}</div>}
            </div>
          ),
        },
      ]}
    />
  );
}

function sentenceOf(pools: readonly Pool[], disks: readonly Disk[]): { state: Condition; sentence: string } {
  const bad = pools.filter((pool) => pool.state !== 'ONLINE');
  const free = disks.filter((disk) => disk.state === 'available').length;
  const rest = free === 0 ? 'No disk is free.' : `${plural(free, 'disk')} ${free === 1 ? 'is' : 'are'} free.`;
  if (bad.length === 0)
    return {
      state: 'ok',
      sentence: `${pools.length === 1 ? 'The pool is' : pools.length === 2 ? 'Both pools are' : `All ${pools.length} pools are`} healthy. ${rest}`,
    };
  const worst = bad.find((pool) => poolCondition(pool) === 'critical') ?? (bad[0] as Pool);
  return { state: poolCondition(worst), sentence: `${worst.name}: ${worst.sentence}` };
}

export default function StoragePage() {
  const pools = useQuery(poolsQuery);
  const disks = useQuery(disksQuery);
  const mayNot = useMayNot('administrator');
  const navigate = useNavigate();
  if (pools.data === undefined || disks.data === undefined) {
    return <Waiting on={pools.error ? pools : disks} page />;
  }
  const free = disks.data.items.some((disk) => disk.state === 'available');
  const why = mayNot ?? (free ? null : 'Every disk is in use. Add a disk first.');
  const old = Math.max(pools.data.ageSeconds, disks.data.ageSeconds);
  const failure = pools.data.error ?? disks.data.error;
  return (
    <PageShell
      title="Storage"
      {...sentenceOf(pools.data.items, disks.data.items)}
      actions={
        <div className="cistern-actions">
          <Button variant="secondary" onClick={() => void navigate('/storage/import')}>
            Import a pool
          </Button>
          <Explained why={why}>
            <Button isAriaDisabled={why !== null} onClick={() => void navigate('/storage/new')}>
              Create a pool
            </Button>
          </Explained>
        </div>
      }
      tabs={<StorageTabs active="pools" />}
    >
      {failure && (
        <Alert component="p" isInline variant="warning" title={`This is how it was ${duration(old)} ago`}>
          {failure}
        </Alert>
      )}
      <div className="cistern-stack">
        {pools.data.items.map((pool) => (
          <PoolCard key={pool.name} pool={pool} disks={disks.data.items} />
        ))}
        {pools.data.items.length === 0 && (
          <EmptyState headingLevel="h2" titleText="There is no pool yet">
            <EmptyStateBody>A pool joins disks so that data survives the loss of one.</EmptyStateBody>
          </EmptyState>
        )}
        <section>
          <Title headingLevel="h2">Disks</Title>
          <DiskTable disks={disks.data.items} />
        </section>
      </div>
    </PageShell>
  );
}
