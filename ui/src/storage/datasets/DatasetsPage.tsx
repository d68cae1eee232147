// Every file system and volume, as the tree it is; searched, sorted and paged on the appliance.
import { EmptyState, EmptyStateBody, Pagination, Progress, SearchInput } from '@patternfly/react-core';
import { Table, Tbody, Td, Th, Thead, type ThProps, Tr } from '@patternfly/react-table';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { Link, useSearchParams } from 'react-router';
import { useMayNot } from '../../api/session.ts';
import { AddButton } from '../../forms/ListActions.tsx';
import { PageShell } from '../../shells/PageShell.tsx';
import { PageLoading } from '../../shells/Waiting.tsx';
import { bytes, digits, duration, exactBytes, percent, plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { StorageTabs } from '../StorageTabs.tsx';
import { type Dataset, type DatasetFilter, datasetPath, datasetsQuery } from './queries.ts';

const PAGE = 50;
type Sort = NonNullable<DatasetFilter['sort']>;
const columns: readonly [Sort | null, string][] = [
  ['name', 'Name'],
  ['used', 'Used'],
  ['available', 'Available'],
  ['ratio', 'Compression'],
  ['quota', 'Quota'],
  ['snapshots', 'Snapshots'],
  [null, 'Mounted'],
];

/** What is said of it where another dataset's mount point stands. */
function place(dataset: Dataset): string {
  if (dataset.kind === 'volume') return `volume of ${bytes(dataset.volumeBytes ?? 0)}`;
  if (dataset.keyStatus === 'unavailable') return 'locked';
  return dataset.mounted ? (dataset.mountpoint ?? 'yes') : 'no';
}

export function QuotaBar({ dataset }: { dataset: Dataset }) {
  const { quota } = dataset;
  if (quota === null) return <span className="cistern-quiet">none</span>;
  return (
    <Progress
      value={Math.min(100, quota.ratio * 100)}
      label={percent(quota.ratio)}
      size="sm"
      title={`${bytes(quota.used)} of ${bytes(quota.bytes)}`}
      variant={quota.ratio >= 1 ? 'danger' : quota.ratio >= 0.9 ? 'warning' : undefined}
      aria-label={`Quota of ${dataset.name}`}
    />
  );
}

/** The address says what is looked for; typing waits a moment before it asks. */
function useSearch(): [string, (text: string) => void] {
  const [params, setParams] = useSearchParams();
  const [text, setText] = useState(params.get('search') ?? '');
  useEffect(() => {
    const timer = setTimeout(() => {
      if (text === (params.get('search') ?? '')) return;
      const next = new URLSearchParams(params);
      if (text === '') next.delete('search');
      else next.set('search', text);
      next.delete('page');
      setParams(next, { replace: true });
    }, 250);
    return () => clearTimeout(timer);
  }, [text, params, setParams]);
  return [text, setText];
}

function sentence(total: number, search: string, all: readonly Dataset[]): string {
  if (search !== '') return `${plural(total, 'dataset')} with “${search}” in the name.`;
  const locked = all.filter(
    ({ keyStatus, encryptionRoot, name }) => keyStatus === 'unavailable' && encryptionRoot === name,
  );
  const full = all.filter(({ quota }) => quota !== null && quota.ratio >= 0.9);
  const rest = [
    ...(locked.length > 0 ? [`${plural(locked.length, 'is', 'are')} locked`] : []),
    ...(full.length > 0 ? [`${plural(full.length, 'has', 'have')} nearly reached the quota`] : []),
  ];
  return `${plural(total, 'dataset')}${rest.length > 0 ? `; of those on this page ${rest.join(', ')}` : ''}.`;
}

export default function DatasetsPage() {
  const [params, setParams] = useSearchParams();
  const [search, setSearch] = useSearch();
  const mayNot = useMayNot('administrator');
  const page = Math.max(1, Number(params.get('page') ?? 1) || 1);
  const sort = (columns.find(([id]) => id !== null && id === params.get('sort'))?.[0] ?? 'name') as Sort;
  const order = params.get('order') === 'up' || params.get('order') === 'down' ? params.get('order') : null;
  const direction = (order ?? (sort === 'name' ? 'up' : 'down')) as 'up' | 'down';
  const wanted = params.get('search') ?? '';
  const { data, error, refetch } = useQuery(
    datasetsQuery({
      limit: PAGE,
      offset: (page - 1) * PAGE,
      sort,
      order: direction,
      ...(wanted && { search: wanted }),
    }),
  );
  const go = (change: Record<string, string>) => {
    const next = new URLSearchParams(params);
    for (const [key, value] of Object.entries(change)) next.set(key, value);
    setParams(next);
  };
  const sorted = (at: number): NonNullable<ThProps['sort']> => ({
    sortBy: { index: columns.findIndex(([id]) => id === sort), direction: direction === 'up' ? 'asc' : 'desc' },
    columnIndex: at,
    onSort: (_event, _index, way) =>
      go({ sort: columns[at]?.[0] ?? 'name', order: way === 'asc' ? 'up' : 'down', page: '1' }),
  });
  const asTree = sort === 'name' && wanted === '';
  return (
    <PageShell
      title="Datasets"
      {...(data && { sentence: sentence(data.total, wanted, data.items) })}
      actions={
        <AddButton to="/storage/new-dataset" why={mayNot}>
          New dataset
        </AddButton>
      }
      tabs={<StorageTabs active="datasets" />}
    >
      {error && <ProblemAlert error={error} retry={() => void refetch()} stale={data !== undefined} />}
      {data?.error && (
        <ProblemAlert
          error={new Error(data.error)}
          title={`This is how it was ${duration(data.ageSeconds)} ago`}
          stale
        />
      )}
      <div className="cistern-find">
        <SearchInput
          aria-label="Search datasets"
          placeholder="A part of the name"
          value={search}
          onChange={(_event, value) => setSearch(value)}
          onClear={() => setSearch('')}
        />
      </div>
      {data === undefined && !error && <PageLoading />}
      {data && data.items.length === 0 && (
        <EmptyState headingLevel="h2" titleText={wanted ? 'No dataset has such a name' : 'There is no dataset here'}>
          <EmptyStateBody>
            {wanted ? 'Clear the search to see them all.' : 'Create a pool first; datasets are made on it.'}
          </EmptyStateBody>
        </EmptyState>
      )}
      {data && data.items.length > 0 && (
        <>
          <Table aria-label="Datasets" variant="compact" gridBreakPoint="grid-lg">
            <Thead>
              <Tr>
                {columns.map(([id, title], at) => (
                  <Th key={title} modifier="nowrap" {...(id !== null && { sort: sorted(at) })}>
                    {title}
                  </Th>
                ))}
              </Tr>
            </Thead>
            <Tbody>
              {data.items.map((dataset) => (
                <Tr key={dataset.name}>
                  <Td dataLabel="Name">
                    <span
                      className="cistern-name"
                      style={asTree ? { paddingInlineStart: `${dataset.depth * 1.25}rem` } : undefined}
                    >
                      <Link to={datasetPath(dataset.name)} title={dataset.name}>
                        {asTree ? dataset.name.split('/').at(-1) : dataset.name}
                      </Link>
                      {dataset.telemetry && <small className="cistern-quiet"> holds the measurements</small>}
                      {dataset.origin && <small className="cistern-quiet"> a clone</small>}
                      {dataset.encrypted && <small className="cistern-quiet"> encrypted</small>}
                    </span>
                  </Td>
                  <Td dataLabel="Used">
                    <span title={exactBytes(dataset.used)}>{bytes(dataset.used)}</span>
                  </Td>
                  <Td dataLabel="Available">
                    <span title={exactBytes(dataset.available)}>{bytes(dataset.available)}</span>
                  </Td>
                  <Td dataLabel="Compression">
                    {dataset.compression === 'off'
                      ? 'off'
                      : `${digits(dataset.compressRatio)} : 1 with ${dataset.compression}`}
                  </Td>
                  <Td dataLabel="Quota">
                    <QuotaBar dataset={dataset} />
                  </Td>
                  <Td dataLabel="Snapshots">
                    {dataset.snapshots === 0 ? (
                      '0'
                    ) : (
                      <Link
                        to={datasetPath(dataset.name, 'snapshots')}
                        aria-label={`${plural(dataset.snapshots, 'snapshot')} of ${dataset.name}`}
                      >
                        {dataset.snapshots}
                      </Link>
                    )}
                  </Td>
                  <Td dataLabel="Mounted">
                    <span className="cistern-name">{place(dataset)}</span>
                  </Td>
                </Tr>
              ))}
            </Tbody>
          </Table>
          {data.total > PAGE && (
            <Pagination
              itemCount={data.total}
              perPage={PAGE}
              perPageOptions={[]}
              page={page}
              onSetPage={(_event, next) => go({ page: String(next) })}
              variant="bottom"
              titles={{ paginationAriaLabel: 'Pages of datasets' }}
            />
          )}
        </>
      )}
    </PageShell>
  );
}
