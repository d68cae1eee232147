// One dataset: how it is, its properties, its compression, its snapshots and when they are taken.
import { Button } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useNavigate, useParams } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { useMayNot } from '../../api/session.ts';
import { Explained } from '../../forms/Explained.tsx';
import NoSuchPage from '../../shells/NoSuchPage.tsx';
import { PageShell } from '../../shells/PageShell.tsx';
import { type Part, PartTabs } from '../../shells/PartTabs.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { Schedules } from '../schedules/Schedules.tsx';
import { CompressionTab } from './CompressionTab.tsx';
import { DatasetCrumbs } from './DatasetCrumbs.tsx';
import { DestroyDataset } from './DestroyDataset.tsx';
import { KeyTab } from './KeyTab.tsx';
import { PropertiesTab } from './PropertiesTab.tsx';
import { type DatasetDetail, datasetPath, datasetQuery } from './queries.ts';
import { RenameForm } from './RenameForm.tsx';
import { SnapshotsTab } from './SnapshotsTab.tsx';

const tabs = [
  ['', 'Properties'],
  ['compression', 'Compression'],
  ['snapshots', 'Snapshots'],
  ['schedules', 'Schedules'],
  ['key', 'Encryption'],
] as const;

function Actions({ dataset }: { dataset: DatasetDetail }) {
  const mayNot = useMayNot('administrator');
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [asking, setAsking] = useState<'destroy' | 'rename' | null>(null);
  const mount = useMutation({
    mutationFn: () =>
      answerOf(
        client.POST(`/api/datasets/{name}/${dataset.mounted ? 'unmount' : 'mount'}`, {
          params: { path: { name: dataset.name } },
        }),
      ),
    onSettled: () => queries.invalidateQueries({ queryKey: ['datasets'] }),
  });
  const whyNotMount =
    mayNot ??
    (dataset.system
      ? 'The appliance itself lives on it.'
      : dataset.telemetry
        ? 'The measurements are on it.'
        : dataset.mountpoint === null
          ? 'It has no mount point.'
          : null);
  // What hinders its destruction hinders another name as well.
  const whyNotDestroy =
    mayNot ??
    (dataset.system
      ? 'The appliance itself lives on it.'
      : dataset.telemetry
        ? 'The measurements are on it.'
        : dataset.depth === 0
          ? 'It is the pool itself.'
          : null);
  return (
    <div className="cistern-actions">
      {dataset.depth > 0 && !dataset.system && (
        <Explained why={mayNot}>
          <Button
            variant="secondary"
            isAriaDisabled={mayNot !== null}
            onClick={() => void navigate(`/storage/new-dataset?below=${encodeURIComponent(dataset.name)}`)}
          >
            New dataset below
          </Button>
        </Explained>
      )}
      {dataset.kind === 'filesystem' && (
        <Explained why={whyNotMount}>
          <Button
            variant="secondary"
            isAriaDisabled={whyNotMount !== null}
            isLoading={mount.isPending}
            onClick={() => mount.mutate()}
          >
            {dataset.mounted ? 'Unmount' : 'Mount'}
          </Button>
        </Explained>
      )}
      <Explained why={whyNotDestroy}>
        <Button variant="secondary" isAriaDisabled={whyNotDestroy !== null} onClick={() => setAsking('rename')}>
          Rename
        </Button>
      </Explained>
      <Explained why={whyNotDestroy}>
        <Button
          variant="secondary"
          isDanger
          isAriaDisabled={whyNotDestroy !== null}
          onClick={() => setAsking('destroy')}
        >
          Destroy
        </Button>
      </Explained>
      <ProblemAlert error={mount.error} />
      {asking === 'rename' && (
        <RenameForm
          title="Rename this dataset"
          label="New name"
          name={dataset.name}
          about="Its snapshots, what lies below it, its schedules and its replications go along. It stays on the same pool, and its mount point moves when it is inherited."
          rename={(to) =>
            answerOf(
              client.POST('/api/datasets/{name}/rename', { params: { path: { name: dataset.name } }, body: { to } }),
            )
          }
          onDone={(to) => void navigate(datasetPath(to), { replace: true })}
          onClose={() => setAsking(null)}
        />
      )}
      {asking === 'destroy' && (
        <DestroyDataset
          etag={dataset.etag}
          name={dataset.name}
          onClose={() => setAsking(null)}
          onDone={() => void navigate('/storage/datasets')}
        />
      )}
    </div>
  );
}

export default function DatasetPage() {
  const { name = '', tab = '' } = useParams();
  const { data, error, refetch } = useQuery(datasetQuery(name));
  if (!tabs.some(([id]) => id === tab)) return <NoSuchPage />;
  if (data === undefined) {
    return (
      <Waiting on={{ error, refetch }} page>
        <DatasetCrumbs name={name} />
      </Waiting>
    );
  }
  return (
    <PageShell
      title={data.name}
      state={data.state}
      sentence={
        <>
          {data.sentence}
          {data.keyStatus === 'unavailable' && (
            <Link className="cistern-next" to={datasetPath(data.encryptionRoot ?? name, 'key')}>
              Load the key
            </Link>
          )}
          {data.origin && ` It is a clone of ${data.origin}.`}
        </>
      }
      actions={<Actions dataset={data} />}
      tabs={
        <PartTabs
          of="Dataset"
          active={tab}
          parts={tabs.map(
            ([id, title]): Part<string> => [
              id,
              id === 'snapshots' && data.snapshots > 0 ? `${title} (${data.snapshots})` : title,
              datasetPath(name, id),
            ],
          )}
        />
      }
    >
      <DatasetCrumbs name={name} />
      {error && <ProblemAlert error={error} stale />}
      {tab === '' && <PropertiesTab dataset={data} />}
      {tab === 'compression' && <CompressionTab dataset={data} />}
      {tab === 'snapshots' && <SnapshotsTab dataset={data} />}
      {tab === 'schedules' && <Schedules dataset={data.name} />}
      {tab === 'key' && <KeyTab dataset={data} />}
    </PageShell>
  );
}
