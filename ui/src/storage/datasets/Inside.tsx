// What a snapshot holds, directory by directory, and what has changed since it was taken.
import { Breadcrumb, BreadcrumbItem, FormSelect, FormSelectOption, Label, Pagination } from '@patternfly/react-core';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useSearchParams } from 'react-router';
import { Field } from '../../forms/Field.tsx';
import { PageLoading } from '../../shells/PageLoading.tsx';
import { Ago } from '../../words/Ago.tsx';
import { bytes, exactBytes } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { diffQuery, filesQuery, snapshotsQuery } from './queries.ts';

const PAGE = 100;

export function Files({ name }: { name: string }) {
  const [params] = useSearchParams();
  const path = params.get('path') ?? '';
  const { data, error } = useQuery(filesQuery(name, path));
  const parts = path === '' ? [] : path.split('/');
  const to = (inside: string) => (inside === '' ? '?' : `?path=${encodeURIComponent(inside)}`);
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
        <Table aria-label="Files" variant="compact" gridBreakPoint="grid-md">
          <Thead>
            <Tr>
              <Th>Name</Th>
              <Th>Size</Th>
              <Th>Changed</Th>
            </Tr>
          </Thead>
          <Tbody>
            {data.items.map((entry) => {
              const inside = path === '' ? entry.name : `${path}/${entry.name}`;
              const query = new URLSearchParams({ name, path: inside });
              return (
                <Tr key={entry.name}>
                  <Td dataLabel="Name">
                    <span className="cistern-name">
                      {entry.kind === 'directory' ? (
                        <Link to={to(inside)}>{entry.name}/</Link>
                      ) : entry.kind === 'file' ? (
                        <a
                          href={`/api/snapshot/file?${query}`}
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
                  </Td>
                  <Td dataLabel="Size">
                    {entry.kind === 'file' && <span title={exactBytes(entry.bytes)}>{bytes(entry.bytes)}</span>}
                  </Td>
                  <Td dataLabel="Changed">
                    <Ago time={entry.modifiedAt} />
                  </Td>
                </Tr>
              );
            })}
          </Tbody>
        </Table>
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
  if (data === undefined) return error ? <ProblemAlert error={error} retry={() => void refetch()} /> : <PageLoading />;
  if (data.total === 0) {
    return <p>{other ? 'Nothing changed between the two.' : 'Nothing has changed since this snapshot was taken.'}</p>;
  }
  return (
    <div className="cistern-stack">
      <Table aria-label="Changes" variant="compact" gridBreakPoint="grid-md">
        <Thead>
          <Tr>
            <Th>Change</Th>
            <Th>Path</Th>
            <Th>When</Th>
          </Tr>
        </Thead>
        <Tbody>
          {data.items.map((item) => (
            <Tr key={`${item.change} ${item.path}`}>
              <Td dataLabel="Change">
                <Label isCompact color={colours[item.change]}>
                  {item.change}
                </Label>
              </Td>
              <Td dataLabel="Path">
                <span className="cistern-name">
                  {item.path}
                  {item.to && ` → ${item.to}`}
                  {item.kind !== 'file' && <small className="cistern-quiet"> {item.kind}</small>}
                </span>
              </Td>
              <Td dataLabel="When">{item.at && <Ago time={item.at} />}</Td>
            </Tr>
          ))}
        </Tbody>
      </Table>
      {data.cut && <p className="cistern-quiet">There are more changes than can be told.</p>}
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
