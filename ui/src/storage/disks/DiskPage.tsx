// One disk: what it is, what it is used for, what it says of itself, and the tests that it made.
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
  PageSection,
  Progress,
} from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Link, useParams } from 'react-router';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { nowKnown } from '../../api/known.ts';
import { disksQuery } from '../../api/queries.ts';
import { useMayNot } from '../../api/session.ts';
import { Explained } from '../../forms/Explained.tsx';
import { ListTable } from '../../shells/ListTable.tsx';
import { PageHead } from '../../shells/PageHead.tsx';
import { Crumbs, PageShell } from '../../shells/PageShell.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import type { Condition } from '../../words/ConditionIcon.tsx';
import { bytes, duration, exactBytes, percent } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { type Disk, diskHealthQuery, poolPath, replacePath } from '../pools/queries.ts';
import { diskUse } from '../pools/words.ts';
import { diskName } from './DiskTile.tsx';
import { EraseDisk } from './EraseDisk.tsx';

type Health = Schemas['DiskHealth'];

function conditionOf(health: Health | undefined): Condition | undefined {
  if (health === undefined || health.error !== null || !health.supported) return undefined;
  if (health.passed === false) return 'critical';
  return health.selfTests[0]?.passed === false || (health.pendingSectors ?? 0) > 0 || (health.wearRatio ?? 0) >= 1
    ? 'warning'
    : 'ok';
}

function Facts({ facts }: { facts: readonly (readonly [string, ReactNode])[] }) {
  return (
    <DescriptionList isHorizontal isCompact>
      {facts.map(([term, value]) => (
        <DescriptionListGroup key={term}>
          <DescriptionListTerm>{term}</DescriptionListTerm>
          <DescriptionListDescription className="cistern-name">{value}</DescriptionListDescription>
        </DescriptionListGroup>
      ))}
    </DescriptionList>
  );
}

function HealthCard({ disk, health }: { disk: Disk; health: Health }) {
  const mayNot = useMayNot('operator');
  const queries = useQueryClient();
  const test = useMutation({
    mutationFn: (kind: 'short' | 'long' | 'abort') =>
      answerOf(client.POST('/api/disks/{id}/self-test', { params: { path: { id: disk.id } }, body: { kind } })),
    onSuccess: (now) => nowKnown(queries, diskHealthQuery(disk.id).queryKey, now),
  });
  const why =
    mayNot ??
    (!health.supported
      ? 'This disk cannot be asked to test itself.'
      : health.testRunning
        ? 'A test is running.'
        : null);
  const number = (value: number | null, words: (value: number) => string) =>
    value === null ? 'not reported' : words(value);
  const count = (value: number) => value.toLocaleString('en-US');
  return (
    <Card component="section" aria-label="Health">
      <CardTitle component="h2">Health</CardTitle>
      <CardBody>
        <div className="cistern-stack">
          <p className="cistern-sentence">{health.sentence}</p>
          {health.supported && (
            <Facts
              facts={[
                [
                  'Its own verdict',
                  health.passed === null ? 'not reported' : health.passed ? 'passed' : 'about to fail',
                ],
                ['Firmware', health.firmware ?? 'not reported'],
                ['Temperature', number(health.temperatureCelsius, (value) => `${value} °C`)],
                ['In use for', number(health.powerOnHours, (value) => duration(value * 3600))],
                ['Worn', number(health.wearRatio, (value) => percent(value))],
                ['Sectors replaced', number(health.reallocatedSectors, count)],
                ['Sectors it could not read', number(health.pendingSectors, count)],
              ]}
            />
          )}
          <section>
            <h3>Self-tests</h3>
            <p className="cistern-quiet">
              A short test takes a few minutes, a long one reads the whole disk: hours. The disk works meanwhile, a
              little slower.
            </p>
            {health.testRunning && (
              <Progress title="A test is running" value={health.testRunning.percent} aria-label="Self-test" />
            )}
            <div className="cistern-actions">
              <Explained why={why}>
                <Button
                  variant="secondary"
                  isAriaDisabled={why !== null}
                  isLoading={test.isPending}
                  onClick={() => test.mutate('short')}
                >
                  Start short test
                </Button>
              </Explained>
              <Explained why={why}>
                <Button variant="secondary" isAriaDisabled={why !== null} onClick={() => test.mutate('long')}>
                  Start long test
                </Button>
              </Explained>
              {health.testRunning && (
                <Explained why={mayNot}>
                  <Button variant="link" isAriaDisabled={mayNot !== null} onClick={() => test.mutate('abort')}>
                    Stop the test
                  </Button>
                </Explained>
              )}
            </div>
            <ProblemAlert error={test.error} />
            {health.supported && health.selfTests.length === 0 && <p>It has not tested itself yet.</p>}
            {health.selfTests.length > 0 && (
              <ListTable
                label="Self-tests"
                rows={health.selfTests}
                keyOf={(_, at) => at}
                columns={[
                  { title: 'Test', cell: (one) => one.kind },
                  {
                    title: 'Result',
                    cell: (one) => (
                      <span className={one.passed === false ? 'cistern-bad' : undefined}>{one.result}</span>
                    ),
                  },
                  {
                    title: 'When',
                    cell: (one) =>
                      one.atPowerOnHours === null
                        ? 'not reported'
                        : health.powerOnHours === null
                          ? `after ${count(one.atPowerOnHours)} hours in use`
                          : `${duration(Math.max(0, health.powerOnHours - one.atPowerOnHours) * 3600)} of use ago`,
                  },
                ]}
              />
            )}
          </section>
        </div>
      </CardBody>
    </Card>
  );
}

/** For finding it in the rack. */
function Light({ disk, lit }: { disk: Disk; lit: boolean }) {
  const mayNot = useMayNot('operator');
  const queries = useQueryClient();
  const light = useMutation({
    mutationFn: () =>
      answerOf(client.POST('/api/disks/{id}/locate', { params: { path: { id: disk.id } }, body: { on: !lit } })),
    onSettled: () => queries.invalidateQueries({ queryKey: diskHealthQuery(disk.id).queryKey }),
  });
  return (
    <>
      <div className="cistern-actions">
        <Explained why={mayNot}>
          <Button
            variant="secondary"
            isAriaDisabled={mayNot !== null}
            isLoading={light.isPending}
            onClick={() => light.mutate()}
          >
            {lit ? 'Switch the light of its slot off' : 'Light its slot'}
          </Button>
        </Explained>
        {lit && <span>The light of its slot is on.</span>}
      </div>
      <ProblemAlert error={light.error} />
    </>
  );
}

export default function DiskPage() {
  const { id = '' } = useParams();
  const mayNot = useMayNot('administrator');
  const disks = useQuery(disksQuery);
  const disk = disks.data?.items.find((one) => one.id === id);
  const health = useQuery({ ...diskHealthQuery(id), enabled: disk !== undefined });
  const [erasing, setErasing] = useState(false);
  const crumbs = <Crumbs way={[['Storage', '/storage']]} here={disk ? diskName(disk) : id} />;
  if (disks.data === undefined) return <Waiting on={disks} />;
  if (disk === undefined) {
    return (
      <PageShell title={id} state="critical" sentence="This disk is not in the machine.">
        {crumbs}
        <p>It was taken out, or has failed so that it does not answer any more.</p>
      </PageShell>
    );
  }
  const foreign = disk.state === 'in_use' && disk.pool === null;
  return (
    <>
      <PageHead
        title={diskName(disk)}
        state={conditionOf(health.data)}
        sentence={`${bytes(disk.bytes)}, ${diskUse(disk)}. ${health.data?.sentence ?? ''}`}
      />
      <PageSection>
        {crumbs}
        <div className="cistern-stack">
          {foreign && (
            <Alert component="h2" isInline variant="info" title="Something else has used this disk">
              <p>{disk.reason}</p>
              <div className="cistern-actions">
                <Explained why={mayNot}>
                  <Button
                    variant="secondary"
                    isDanger
                    isAriaDisabled={mayNot !== null}
                    onClick={() => setErasing(true)}
                  >
                    Erase it…
                  </Button>
                </Explained>
              </div>
            </Alert>
          )}
          <section aria-label="Facts">
            <Facts
              facts={[
                ['Id', <code key="i">{disk.id}</code>],
                ['Serial number', disk.serial || 'unknown'],
                ['World-wide name (WWN)', disk.wwn === null ? 'it has none' : <code key="w">{disk.wwn}</code>],
                ['Model', disk.model || 'unknown'],
                [
                  'Size',
                  <span key="s" title={exactBytes(disk.bytes)}>
                    {bytes(disk.bytes)}
                  </span>,
                ],
                [
                  'Kind',
                  [disk.rotational === null ? null : disk.rotational ? 'hard disk' : 'SSD', disk.bus]
                    .filter(Boolean)
                    .join(', '),
                ],
                ['Path', <code key="p">{disk.path}</code>],
                ['Place', disk.place === null ? 'unknown' : <code key="l">{disk.place}</code>],
                [
                  'Use',
                  disk.pool ? (
                    <span key="u">
                      <Link to={poolPath(disk.pool)}>pool {disk.pool}</Link>
                      {disk.vdev && disk.vdev !== disk.id && `, ${disk.vdev}`}
                      {disk.state !== 'system' && (
                        <Link className="cistern-next" to={replacePath(disk.pool, disk.id)}>
                          Replace it
                        </Link>
                      )}
                    </span>
                  ) : (
                    (disk.reason ?? diskUse(disk))
                  ),
                ],
              ]}
            />
          </section>
          {health.data && <Light disk={disk} lit={health.data.lit} />}
          {health.error && <ProblemAlert error={health.error} retry={() => void health.refetch()} />}
          {health.data && <HealthCard disk={disk} health={health.data} />}
        </div>
      </PageSection>
      {erasing && <EraseDisk disk={disk} reason={disk.reason} onClose={() => setErasing(false)} />}
    </>
  );
}
