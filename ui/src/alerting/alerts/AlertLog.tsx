// Every alert there was, filtered; and the same as a file.
import {
  Button,
  EmptyState,
  EmptyStateBody,
  FormSelect,
  FormSelectOption,
  SearchInput,
  TextInput,
} from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useSearchParams } from 'react-router';
import { type AlertFilter, alertClassesQuery, alertGroupsQuery } from '../../api/queries.ts';
import { PageLoading } from '../../shells/Waiting.tsx';
import { plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { GroupList } from './GroupList.tsx';

const PAGE = 50;
const MAX_SHOWN = 200;

const severities: readonly [string, string][] = [
  ['', 'Any severity'],
  ['critical', 'Critical'],
  ['warning', 'Warning or worse'],
  ['info', 'For information'],
];
const meant: Record<string, AlertFilter['severity']> = {
  critical: ['critical'],
  warning: ['critical', 'warning'],
  info: ['info'],
};

/** Local midnight of a date as a date field has it, in seconds. */
function midnight(date: string | null, days = 0): number | undefined {
  const [year, month, day] = (date ?? '').split('-').map(Number);
  if (!year || !month || !day) return undefined;
  return new Date(year, month - 1, day + days).getTime() / 1000;
}

export function AlertLog() {
  const [query, setQuery] = useSearchParams();
  const [limit, setLimit] = useState(PAGE);
  const { data: classes = [] } = useQuery(alertClassesQuery);
  const get = (name: string) => query.get(name) ?? '';
  const set = (name: string, value: string) => {
    setLimit(PAGE);
    setQuery(
      (now) => {
        if (value === '') now.delete(name);
        else now.set(name, value);
        return now;
      },
      { replace: true },
    );
  };
  const severity = meant[get('severity')];
  const from = midnight(query.get('from'));
  const to = midnight(query.get('to'), 1);
  const filter: AlertFilter = {
    state: get('state') === 'active' ? 'active' : 'all',
    ...(severity && { severity }),
    ...(get('class') && { class: get('class') }),
    ...(get('text') && { search: get('text') }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
  };
  const { data, error, refetch, isPlaceholderData } = useQuery(alertGroupsQuery(filter, limit));
  const file = (format: 'csv' | 'json') => {
    const wanted = new URLSearchParams({ format });
    for (const [name, value] of Object.entries(filter)) {
      for (const one of Array.isArray(value) ? value : [value]) wanted.append(name, String(one));
    }
    return `/api/alert-export?${wanted}`;
  };
  const filtered = Object.keys(filter).length > 1 || filter.state === 'active';
  return (
    <div className="cistern-stack">
      <div className="cistern-filters">
        <SearchInput
          aria-label="Search the log"
          placeholder="Title, text or label"
          value={get('text')}
          onChange={(_event, value) => set('text', value)}
          onClear={() => set('text', '')}
        />
        <FormSelect aria-label="Severity" value={get('severity')} onChange={(_event, value) => set('severity', value)}>
          {severities.map(([value, words]) => (
            <FormSelectOption key={value} value={value} label={words} />
          ))}
        </FormSelect>
        <FormSelect aria-label="Class" value={get('class')} onChange={(_event, value) => set('class', value)}>
          <FormSelectOption value="" label="Any class" />
          {classes.map((kind) => (
            <FormSelectOption key={kind.class} value={kind.class} label={kind.class} />
          ))}
        </FormSelect>
        <FormSelect aria-label="State" value={get('state')} onChange={(_event, value) => set('state', value)}>
          <FormSelectOption value="" label="Active and cleared" />
          <FormSelectOption value="active" label="Only active" />
        </FormSelect>
        <div className="cistern-fromto">
          <span>from</span>
          <TextInput
            type="date"
            aria-label="From day"
            value={get('from')}
            onChange={(_event, value) => set('from', value)}
          />
          <span>to</span>
          <TextInput type="date" aria-label="To day" value={get('to')} onChange={(_event, value) => set('to', value)} />
        </div>
      </div>
      <p>
        As a file: <a href={file('csv')}>CSV</a> · <a href={file('json')}>JSON</a>
      </p>
      {error && <ProblemAlert error={error} retry={() => void refetch()} stale={data !== undefined} />}
      {data === undefined && !error && <PageLoading />}
      {data?.length === 0 && (
        <EmptyState headingLevel="h2" titleText={filtered ? 'No alert matches' : 'There has been no alert'}>
          <EmptyStateBody>
            {filtered ? 'Take a filter away to see more.' : 'What is raised from now on is kept here for 400 days.'}
          </EmptyStateBody>
        </EmptyState>
      )}
      {data && data.length > 0 && <GroupList groups={data} label="All alerts" search={get('text')} />}
      {data && data.length >= limit && limit < MAX_SHOWN && (
        <div>
          <Button
            variant="secondary"
            isLoading={isPlaceholderData}
            onClick={() => setLimit(Math.min(MAX_SHOWN, limit + 3 * PAGE))}
          >
            Older ones
          </Button>
        </div>
      )}
      {data && data.length >= MAX_SHOWN && (
        <p className="cistern-quiet">
          {plural(MAX_SHOWN, 'line')} are shown. The file has all of them; a filter finds the older ones.
        </p>
      )}
    </div>
  );
}
