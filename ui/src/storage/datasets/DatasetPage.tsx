// One dataset: how it is, its properties, its compression, its snapshots and when they are taken.
import { Breadcrumb, BreadcrumbItem, Button, Nav, NavItem, NavList, PageSection } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useNavigate, useParams } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { useMayNot } from '../../api/session.ts';
import { Explained } from '../../forms/Explained.tsx';
import NoSuchPage from '../../shells/NoSuchPage.tsx';
import { PageHead } from '../../shells/PageHead.tsx';
import { PageLoading } from '../../shells/PageLoading.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { Schedules } from '../schedules/Schedules.tsx';
import { CompressionTab } from './CompressionTab.tsx';
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
        client.POST('/api/dataset/mount', {
          params: { query: { name: dataset.name } },
          body: { mounted: !dataset.mounted },
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
            answerOf(client.POST('/api/dataset/rename', { params: { query: { name: dataset.name } }, body: { to } }))
          }
          onDone={(to) => void navigate(datasetPath(to), { replace: true })}
          onClose={() => setAsking(null)}
        />
      )}
      {asking === 'destroy' && (
        <DestroyDataset
          name={dataset.name}
          onClose={() => setAsking(null)}
          onDone={() => void navigate('/storage/datasets')}
        />
      )}
    </div>
  );
}

/** Where it is, each part a way up. */
export function Crumbs({ name, last }: { name: string; last?: string }) {
  const parts = name.split('/');
  return (
    <Breadcrumb className="cistern-crumbs">
      <BreadcrumbItem>
        <Link to="/storage/datasets">Datasets</Link>
      </BreadcrumbItem>
      {parts.map((part, at) => {
        const path = parts.slice(0, at + 1).join('/');
        const here = at === parts.length - 1 && last === undefined;
        return (
          <BreadcrumbItem key={path} isActive={here}>
            {here ? part : <Link to={datasetPath(path)}>{part}</Link>}
          </BreadcrumbItem>
        );
      })}
      {last !== undefined && <BreadcrumbItem isActive>{last}</BreadcrumbItem>}
    </Breadcrumb>
  );
}

export default function DatasetPage() {
  const { name = '', tab = '' } = useParams();
  const { data, error, refetch } = useQuery(datasetQuery(name));
  if (!tabs.some(([id]) => id === tab)) return <NoSuchPage />;
  if (data === undefined) {
    return error ? (
      <PageSection>
        <Crumbs name={name} />
        <ProblemAlert error={error} retry={() => void refetch()} />
      </PageSection>
    ) : (
      <PageLoading />
    );
  }
  return (
    <>
      <PageHead
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
      />
      <PageSection type="subnav" className="cistern-tabs">
        <Nav variant="horizontal-subnav" aria-label="Dataset">
          <NavList>
            {tabs.map(([id, title]) => (
              <NavItem key={id} isActive={id === tab} preventDefault={false}>
                <Link to={datasetPath(name, id)}>
                  {title}
                  {id === 'snapshots' && data.snapshots > 0 && ` (${data.snapshots})`}
                </Link>
              </NavItem>
            ))}
          </NavList>
        </Nav>
      </PageSection>
      <PageSection>
        <Crumbs name={name} />
        {error && <ProblemAlert error={error} stale />}
        {tab === '' && <PropertiesTab dataset={data} />}
        {tab === 'compression' && <CompressionTab dataset={data} />}
        {tab === 'snapshots' && <SnapshotsTab dataset={data} />}
        {tab === 'schedules' && <Schedules dataset={data.name} />}
        {tab === 'key' && <KeyTab dataset={data} />}
      </PageSection>
    </>
  );
}
