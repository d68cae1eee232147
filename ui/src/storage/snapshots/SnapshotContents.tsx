// What a snapshot holds, directory by directory, and what has changed since it was taken.
import { Breadcrumb, BreadcrumbItem, FormSelect, FormSelectOption, Label, Pagination } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useSearchParams } from 'react-router';
import type { Schemas } from '../../api/client.ts';
import { Field } from '../../forms/Field.tsx';
import { ListTable } from '../../shells/ListTable.tsx';
import { PageLoading, Waiting } from '../../shells/Waiting.tsx';
import { Ago } from '../../words/Ago.tsx';
import { bytes, exactBytes } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { diffQuery, filesQuery, snapshotsQuery } from '../datasets/queries.ts';

const PAGE = 100;

const to = (inside: string) => (inside === '' ? '?' : `?path=${encodeURIComponent(inside)}`);

function EntryName(props: { entry: Schemas['FileList']['items'][number]; snapshot: string; path: string }) {
  const { entry, snapshot, path } = props;
  const inside = path === '' ? entry.name : `${path}/${entry.name}`;
  return (
    <span className="cistern-name">
      {entry.kind === 'directory' ? (
        <Link to={to(inside)}>{entry.name}/</Link>
      ) : entry.kind === 'file' ? (
        <a
          href={`/api/snapshots/${encodeURIComponent(snapshot)}/files/content?${new URLSearchParams({ path: inside })}`}
          download={entry.name}
          aria-label={`Download ${entry.name}`}
        >
          {entry.name}
        </a>
      ) : (
        <>
          {entry.name} <small className="cistern-quiet">{entry.kind}</small>
        </>
      )}
    </span>
  );
}

export function Files({ name }: { name: string }) {
  const [params] = useSearchParams();
  const path = params.get('path') ?? '';
  const { data, error } = useQuery(filesQuery(name, path));
  const parts = path === '' ? [] : path.split('/');
  return (
    <div className="cistern-stack">
      <Breadcrumb aria-label="Directory">
        <BreadcrumbItem>{parts.length === 0 ? 'All of it' : <Link to={to('')}>All of it</Link>}</BreadcrumbItem>
        {parts.map((part, at) => {
          const inside = parts.slice(0, at + 1).join('/');
          return (
            <BreadcrumbItem key={inside}>
              {at === parts.length - 1 ? part : <Link to={to(inside)}>{part}</Link>}
            </BreadcrumbItem>
          );
        })}
      </Breadcrumb>
      {error ? <ProblemAlert error={error} /> : data === undefined && <PageLoading />}
      {data && data.items.length === 0 && <p>There is nothing in this directory.</p>}
      {data && data.items.length > 0 && (
        <ListTable
          label="Files"
          rows={data.items}
          keyOf={(entry) => entry.name}
          columns={[
            { title: 'Name', cell: (entry) => <EntryName entry={entry} snapshot={name} path={path} /> },
            {
              title: 'Size',
              cell: (entry) =>
                entry.kind === 'file' && <span title={exactBytes(entry.bytes)}>{bytes(entry.bytes)}</span>,
            },
            { title: 'Changed', cell: (entry) => <Ago time={entry.modifiedAt} /> },
          ]}
        />
      )}
      {data?.cut && <p className="cistern-quiet">There are more entries than are shown here.</p>}
    </div>
  );
}

const colours = { added: 'green', removed: 'red', modified: 'blue', renamed: 'purple' } as const;

/** What changed from the snapshot to now, or to a later one. */
export function Changes({ name }: { name: string }) {
  const [query, setQuery] = useSearchParams();
  const other = query.get('to') ?? undefined;
  const dataset = name.slice(0, name.indexOf('@'));
  const all = useQuery(snapshotsQuery({ dataset, sort: 'created', order: 'up', limit: 1000 })).data?.items ?? [];
  const later = all.slice(all.findIndex((one) => one.name === name) + 1);
  return (
    <div className="cistern-stack">
      <div className="cistern-form">
        <Field label="From this snapshot to">
          {(id) => (
            <FormSelect
              id={id}
              value={other ?? ''}
              onChange={(_event, value) => setQuery(value === '' ? {} : { to: value }, { replace: true })}
            >
              <FormSelectOption value="" label="now" />
              {later.map((one) => (
                <FormSelectOption key={one.name} value={one.name} label={one.snapshot} />
              ))}
            </FormSelect>
          )}
        </Field>
      </div>
      <ChangeList key={other ?? ''} name={name} other={other} />
    </div>
  );
}

function ChangeList({ name, other }: { name: string; other: string | undefined }) {
  const [page, setPage] = useState(1);
  const { data, error, refetch } = useQuery(diffQuery(name, other, (page - 1) * PAGE, PAGE));
  if (data === undefined) return <Waiting on={{ error, refetch }} />;
  if (data.total === 0) {
    return <p>{other ? 'Nothing changed between the two.' : 'Nothing has changed since this snapshot was taken.'}</p>;
  }
  return (
    <div className="cistern-stack">
      <ListTable
        label="Changes"
        rows={data.items}
        keyOf={(item) => `${item.change} ${item.path}`}
        columns={[
          {
            title: 'Change',
            cell: (item) => (
              <Label isCompact color={colours[item.change]}>
                {item.change}
              </Label>
            ),
          },
          {
            title: 'Path',
            cell: (item) => (
              <span className="cistern-name">
                {item.path}
                {item.to && ` → ${item.to}`}
                {item.kind !== 'file' && <small className="cistern-quiet"> {item.kind}</small>}
              </span>
            ),
          },
          { title: 'When', cell: (item) => item.at && <Ago time={item.at} /> },
        ]}
      />
      {data.cut && <p className="cistern-quiet">There are more changes than are shown here.</p>}
      {data.total > PAGE && (
        <Pagination
          itemCount={data.total}
          perPage={PAGE}
          perPageOptions={[]}
          page={page}
          onSetPage={(_event, next) => setPage(next)}
          variant="bottom"
          titles={{ paginationAriaLabel: 'Pages of changes' }}
        />
      )}
    </div>
  );
}
