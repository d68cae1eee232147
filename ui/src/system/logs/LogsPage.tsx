// The logs of all services, filtered. The filter is in the address, so that it can be shared as a link.
import { FormSelect, FormSelectOption, SearchInput } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useSearchParams } from 'react-router';
import { servicesQuery } from '../../api/queries.ts';
import { useMayNot } from '../../api/session.ts';
import { PageShell } from '../../shells/PageShell.tsx';
import { ServicesTabs } from '../services/ServicesTabs.tsx';
import { type Level, type LogFilter, LogView } from './LogView.tsx';

const levels: readonly [Level, string][] = [
  ['error', 'Errors'],
  ['warning', 'Warnings and errors'],
  ['info', 'Information and worse'],
];

export default function LogsPage() {
  const mayNot = useMayNot('operator');
  const { data: services } = useQuery(servicesQuery);
  const [search, setSearch] = useSearchParams();
  const [text, setText] = useState(search.get('text') ?? '');
  const set = (name: string, value: string) => {
    const next = new URLSearchParams(search);
    if (value === '') next.delete(name);
    else next.set(name, value);
    setSearch(next, { replace: true });
  };
  const filter: LogFilter = {
    ...(search.get('service') && { service: search.get('service') as string }),
    ...(levels.some(([level]) => level === search.get('level')) && { level: search.get('level') as Level }),
    ...(search.get('text') && { search: search.get('text') as string }),
  };
  return (
    <PageShell
      title="Logs"
      sentence="Log lines of all services, the newest first."
      tabs={<ServicesTabs active="logs" />}
    >
      <div className="cistern-stack">
        <div className="cistern-log-bar">
          <FormSelect
            aria-label="Service"
            value={filter.service ?? ''}
            onChange={(_event, value) => set('service', value)}
          >
            <FormSelectOption value="" label="The whole machine" />
            {services?.map(({ name, title }) => (
              <FormSelectOption key={name} value={name} label={`${title} (${name})`} />
            ))}
          </FormSelect>
          <FormSelect aria-label="Level" value={filter.level ?? ''} onChange={(_event, value) => set('level', value)}>
            <FormSelectOption value="" label="All levels" />
            {levels.map(([level, label]) => (
              <FormSelectOption key={level} value={level} label={label} />
            ))}
          </FormSelect>
          <SearchInput
            aria-label="Text"
            placeholder="Text in the line"
            value={text}
            onChange={(_event, value) => setText(value)}
            onSearch={() => set('text', text.trim())}
            onClear={() => {
              setText('');
              set('text', '');
            }}
          />
        </div>
        {mayNot === null ? <LogView key={JSON.stringify(filter)} filter={filter} /> : <p>{mayNot}</p>}
      </div>
    </PageShell>
  );
}
