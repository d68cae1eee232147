// Every file system and volume, as the tree it is; searched, sorted and paged on the appliance.
import { EmptyState, EmptyStateBody, Pagination, Progress, SearchInput } from '@patternfly/react-core';
import type { ThProps } from '@patternfly/react-table';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { Link, useSearchParams } from 'react-router';
import { useMayNot } from '../../api/session.ts';
import { AddButton } from '../../forms/ListActions.tsx';
import { type Column, ListTable } from '../../shells/ListTable.tsx';
import { PageShell } from '../../shells/PageShell.tsx';
import { PageLoading } from '../../shells/Waiting.tsx';
import { bytes, digits, duration, exactBytes, percent, plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { StorageTabs } from '../StorageTabs.tsx';
import { type Dataset, type DatasetFilter, datasetPath, datasetsQuery } from './queries.ts';

const PAGE = 50;
type Sort = NonNullable<DatasetFilter['sort']>;

/** What stands in the column “Mounted”. */
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

type SortedColumn = Column<Dataset> & {
  /** What the appliance sorts by; null: it does not sort by this. */
  readonly sort: Sort | null;
};

/** In a tree a dataset is indented below its parent and shows only the last part of its name. */
const nameColumn = (asTree: boolean): SortedColumn => ({
  title: 'Name',
  sort: 'name',
  cell: ({ name, depth, telemetry, origin, encrypted }) => (
    <span className="cistern-name" style={asTree ? { paddingInlineStart: `${depth * 1.25}rem` } : undefined}>
      <Link to={datasetPath(name)} title={name}>
        {asTree ? name.split('/').at(-1) : name}
      </Link>
      {telemetry && <small className="cistern-quiet"> holds the measurements</small>}
      {origin && <small className="cistern-quiet"> a clone</small>}
      {encrypted && <small className="cistern-quiet"> encrypted</small>}
    </span>
  ),
});

const columns: readonly SortedColumn[] = [
  nameColumn(true),
  { title: 'Used', sort: 'used', cell: ({ used }) => <span title={exactBytes(used)}>{bytes(used)}</span> },
  {
    title: 'Available',
    sort: 'available',
    cell: ({ available }) => <span title={exactBytes(available)}>{bytes(available)}</span>,
  },
  {
    title: 'Compression',
    sort: 'ratio',
    cell: ({ compression, compressRatio }) =>
      compression === 'off' ? 'off' : `${digits(compressRatio)} : 1 with ${compression}`,
  },
  { title: 'Quota', sort: 'quota', cell: (dataset) => <QuotaBar dataset={dataset} /> },
  {
    title: 'Snapshots',
    sort: 'snapshots',
    cell: ({ name, snapshots }) =>
      snapshots === 0 ? (
        '0'
      ) : (
        <Link to={datasetPath(name, 'snapshots')} aria-label={`${plural(snapshots, 'snapshot')} of ${name}`}>
          {snapshots}
        </Link>
      ),
  },
  {
    title: 'Mounted',
    sort: null,
    // A path may be broken anywhere; without a width of its own the column would be as narrow as its title.
    head: { width: 15 },
    cell: (dataset) => <span className="cistern-name">{place(dataset)}</span>,
  },
];

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
  const sort = columns.find((column) => column.sort !== null && column.sort === params.get('sort'))?.sort ?? 'name';
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
  const sorted = (by: Sort, at: number): NonNullable<ThProps['sort']> => ({
    sortBy: {
      index: columns.findIndex((column) => column.sort === sort),
      direction: direction === 'up' ? 'asc' : 'desc',
    },
    columnIndex: at,
    onSort: (_event, _index, way) => go({ sort: by, order: way === 'asc' ? 'up' : 'down', page: '1' }),
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
          <ListTable
            label="Datasets"
            cardsBelow="grid-lg"
            columns={[nameColumn(asTree), ...columns.slice(1)].map(({ sort: by, ...column }, at) => ({
              ...column,
              head: { ...column.head, modifier: 'nowrap', ...(by !== null && { sort: sorted(by, at) }) },
            }))}
            rows={data.items}
            keyOf={({ name }) => name}
          />
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
