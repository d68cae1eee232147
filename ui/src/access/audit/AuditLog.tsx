// The audit log: who did what, from where and by which way, filtered; and the same as a file. The filter is in the address.
import {
  Button,
  EmptyState,
  EmptyStateBody,
  FormSelect,
  FormSelectOption,
  SearchInput,
  TextInput,
} from '@patternfly/react-core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useSearchParams } from 'react-router';
import { ListTable } from '../../shells/ListTable.tsx';
import { PageLoading } from '../../shells/Waiting.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { differences } from './difference.ts';
import { type AuditFilter, auditQuery, type Entry } from './queries.ts';
import { ways } from './ways.ts';

const texts = [
  ['user', 'User', 'ada, token:grafana'],
  ['action', 'Action', 'user.create, or user. for all'],
  ['target', 'Target', 'what it was done to'],
  ['address', 'Address', '192.0.2.7'],
] as const;

const when = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** Fields of one entry that are shown; what is more can be exported. */
const SHOWN = 12;

/** Local time of a field of date and time, in seconds. */
function seconds(text: string | null): number | undefined {
  const time = text === null ? Number.NaN : new Date(text).getTime();
  return Number.isNaN(time) ? undefined : time / 1000;
}

function filterOf(query: URLSearchParams): AuditFilter {
  const text = (name: string) => query.get(name) || undefined;
  const [from, to] = [seconds(query.get('from')), seconds(query.get('to'))];
  const way = text('way');
  const filter = {
    ...Object.fromEntries(texts.map(([name]) => [name, text(name)])),
    search: text('search'),
    way: way !== undefined && Object.hasOwn(ways, way) ? way : undefined,
    from,
    to,
  };
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined)) as AuditFilter;
}

function What({ entry: { before, after } }: { entry: Entry }) {
  const all = differences(before, after);
  if (all.length === 0) return <span className="cistern-quiet">–</span>;
  return (
    <ul className="cistern-difference">
      {all.slice(0, SHOWN).map(({ field, before: was, after: is }) => (
        <li key={field}>
          {field !== '' && <span className="cistern-quiet">{field}: </span>}
          {was !== null && <del>{was}</del>}
          {was !== null && is !== null && ' → '}
          {is !== null && <ins>{is}</ins>}
        </li>
      ))}
      {all.length > SHOWN && <li className="cistern-quiet">and {all.length - SHOWN} more fields</li>}
    </ul>
  );
}

export function AuditLog() {
  const [query, setQuery] = useSearchParams();
  const get = (name: string) => query.get(name) ?? '';
  const set = (name: string, value: string) =>
    setQuery(
      (now) => {
        if (value === '') now.delete(name);
        else now.set(name, value);
        return now;
      },
      { replace: true },
    );
  const filter = filterOf(query);
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(auditQuery(filter));
  const entries = data?.pages.flat();
  const file = (format: 'csv' | 'jsonl') => {
    const wanted = Object.entries(filter).map(([name, value]) => [name, String(value)]);
    return `/api/audit-export?${new URLSearchParams([['format', format], ...wanted])}`;
  };
  return (
    <div className="cistern-stack">
      <div className="cistern-filters">
        <SearchInput
          aria-label="Search the audit log"
          placeholder="Any text in it"
          value={get('search')}
          onChange={(_event, value) => set('search', value)}
          onClear={() => set('search', '')}
        />
        {texts.map(([name, label, example]) => (
          <TextInput
            key={name}
            aria-label={label}
            placeholder={`${label}: ${example}`}
            value={get(name)}
            onChange={(_event, value) => set(name, value)}
          />
        ))}
        <FormSelect aria-label="Way" value={get('way')} onChange={(_event, value) => set('way', value)}>
          <FormSelectOption value="" label="Any way" />
          {Object.entries(ways).map(([way, words]) => (
            <FormSelectOption key={way} value={way} label={words} />
          ))}
        </FormSelect>
        <div className="cistern-fromto">
          <span>from</span>
          <TextInput
            type="datetime-local"
            aria-label="From"
            value={get('from')}
            onChange={(_event, value) => set('from', value)}
          />
          <span>to</span>
          <TextInput
            type="datetime-local"
            aria-label="To"
            value={get('to')}
            onChange={(_event, value) => set('to', value)}
          />
        </div>
      </div>
      <p>
        All that match, as a file: <a href={file('csv')}>CSV</a> · <a href={file('jsonl')}>JSON lines</a>
      </p>
      {error && <ProblemAlert error={error} retry={() => void refetch()} stale={data !== undefined} />}
      {entries === undefined && !error && <PageLoading />}
      {entries?.length === 0 && (
        <EmptyState headingLevel="h2" titleText="No entry matches">
          <EmptyStateBody>Take a filter away to see more.</EmptyStateBody>
        </EmptyState>
      )}
      {entries && entries.length > 0 && (
        <ListTable
          label="Audit log"
          rows={entries}
          keyOf={({ id }) => id}
          cardsBelow="grid-lg"
          columns={[
            { title: 'When', cell: ({ time }) => <time dateTime={time}>{when.format(new Date(time))}</time> },
            { title: 'Who', cell: ({ user }) => <span className="cistern-anywhere">{user}</span> },
            {
              title: 'From where',
              cell: ({ address, way }) => (
                <span className="cistern-anywhere">
                  {address}
                  {way && <span className="cistern-quiet"> {ways[way]}</span>}
                </span>
              ),
            },
            { title: 'Action', cell: ({ action }) => <code>{action}</code> },
            { title: 'Target', cell: ({ target }) => <span className="cistern-anywhere">{target}</span> },
            { title: 'Before → after', cell: (entry) => <What entry={entry} /> },
          ]}
        />
      )}
      {hasNextPage && (
        <div>
          <Button variant="secondary" isLoading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            Load more
          </Button>
        </div>
      )}
    </div>
  );
}
