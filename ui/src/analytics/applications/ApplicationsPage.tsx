// The applications that send metrics by a convention: how much they do, how much of it fails, how long it takes.
import { Content, FormSelect, FormSelectOption, PageSection, SearchInput } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useSearchParams } from 'react-router';
import { PageHead } from '../../shells/PageHead.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { ApplicationsTable, failing, type Row, rowsOf } from './ApplicationsTable.tsx';
import { applicationsQuery, TIMES } from './application.ts';
import { NameRules } from './NameRules.tsx';

const SORTS = {
  rate: ['Most operations', (a: Row, b: Row) => b.rate - a.rate],
  failed: ['Most failures', (a: Row, b: Row) => (b.errors ?? 0) / b.rate - (a.errors ?? 0) / a.rate],
  slow: ['Slowest', (a: Row, b: Row) => (b.p99 ?? 0) - (a.p99 ?? 0)],
  name: ['Name', (a: Row, b: Row) => a.name.localeCompare(b.name)],
} as const;
type Sort = keyof typeof SORTS;

function sentenceOf(rows: readonly Row[]) {
  const all = new Set(rows.map(({ name }) => name)).size;
  const bad = new Set(rows.filter(failing).map(({ name }) => name)).size;
  if (all === 0) return { sentence: 'What programs do, and how well, from what they send.' };
  if (bad === 0) return { state: 'ok' as const, sentence: `${plural(all, 'application')}, none fails often.` };
  return {
    state: 'warning' as const,
    sentence: `${bad} of ${plural(all, 'application')} ${bad === 1 ? 'fails' : 'fail'} in 1 % of operations or more.`,
  };
}

function Nothing() {
  return (
    <Content className="cistern-stack">
      <h2>No application has sent anything in this time</h2>
      <p>
        Nothing has to be set here for a program that is instrumented with OpenTelemetry and sends its metrics: it is
        listed by its <code>service.name</code> once it has served a request, answered a call, or asked a database. The
        same metrics from Prometheus are listed by their <code>job</code>.
      </p>
      <p>
        Metrics without labels, as statsd's, become applications by a rule below: which part of a name is the
        application.
      </p>
    </Content>
  );
}

export default function ApplicationsPage() {
  const [query, setQuery] = useSearchParams();
  const time = TIMES.find(([one]) => String(one) === query.get('seconds'))?.[0] ?? TIMES[0][0];
  const sort = Object.keys(SORTS).find((one) => one === query.get('sort')) as Sort | undefined;
  const text = query.get('search') ?? '';
  const found = useQuery(applicationsQuery(time));
  const set = (name: string, value: string, usual: string) => {
    const next = new URLSearchParams(query);
    if (value === usual) next.delete(name);
    else next.set(name, value);
    setQuery(next, { replace: true });
  };
  const all = rowsOf(found.data?.items ?? []);
  const rows = all
    .filter(({ name }) => name.toLowerCase().includes(text.trim().toLowerCase()))
    .toSorted(SORTS[sort ?? 'rate'][1]);
  return (
    <>
      <PageHead title="Applications" {...(found.data && sentenceOf(all))} />
      <PageSection>
        {found.data === undefined ? (
          <Waiting on={found} />
        ) : (
          <div className="cistern-stack">
            <ProblemAlert error={found.error} stale retry={() => void found.refetch()} />
            <div className="cistern-applicationtools">
              <SearchInput
                aria-label="Applications whose name has"
                placeholder="Part of a name"
                value={text}
                onChange={(_event, value) => set('search', value, '')}
                onClear={() => set('search', '', '')}
              />
              <FormSelect
                aria-label="Measured over"
                value={String(time)}
                onChange={(_event, value) => set('seconds', value, String(TIMES[0][0]))}
              >
                {TIMES.map(([one, words]) => (
                  <FormSelectOption key={one} value={String(one)} label={`In ${words}`} />
                ))}
              </FormSelect>
              <FormSelect
                aria-label="Order"
                value={sort ?? 'rate'}
                onChange={(_event, value) => set('sort', value, 'rate')}
              >
                {Object.entries(SORTS).map(([one, [words]]) => (
                  <FormSelectOption key={one} value={one} label={words} />
                ))}
              </FormSelect>
            </div>
            {all.length === 0 ? (
              <Nothing />
            ) : rows.length === 0 ? (
              <p>No application has “{text}” in its name.</p>
            ) : (
              <ApplicationsTable rows={rows} />
            )}
            {found.data.leftOut > 0 && (
              <p>
                {plural(found.data.leftOut, 'more application')} by name {found.data.leftOut === 1 ? 'is' : 'are'} not
                listed: 100 of a rule are.
              </p>
            )}
            <NameRules />
          </div>
        )}
      </PageSection>
    </>
  );
}
