// Every metric the store knows, to find one by name: what is sent here first, the appliance's own behind it.
import { EmptyState, EmptyStateBody, ExpandableSection, Label, SearchInput, Title } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { type MetricList as Found, listMetrics, type Metric, namesOf } from '../../api/telemetry.ts';
import { type Column, ListTable } from '../../shells/ListTable.tsx';
import { Ago, useNow } from '../../words/Ago.tsx';
import { plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { selector } from './expression.ts';
import { FirstSample } from './FirstSample.tsx';
import { type Branch, isNew, treeOf } from './tree.ts';
import type { View } from './view.ts';

export const kindWords = {
  gauge: 'gauge',
  counter: 'counter, shown per second',
  histogram: 'histogram, shown as a heatmap',
} as const;

/** More than these are found by a part of their names. */
const MOST = 2_000;

function useMetrics(of: 'sent' | 'own', match: string, limit: number, enabled = true) {
  return useQuery({
    queryKey: ['metrics', of, match, limit],
    queryFn: ({ signal }) => listMetrics({ match, of, limit }, signal),
    // A long list is not asked for all the time.
    refetchInterval: ({ state }) => ((state.data?.metrics.length ?? 0) > 200 ? 30_000 : 5_000),
    placeholderData: (before) => before,
    enabled,
  });
}

function columnsOf(oldest: number, now: number, filters: View['filters']): readonly Column<Metric>[] {
  return [
    {
      title: 'Name',
      cell: (metric) => (
        <>
          <Link
            to={`/analytics/explore?${new URLSearchParams([['metric', metric.name], ...filters.map(([label, value]) => [`f.${label}`, value])])}`}
            className="cistern-name"
          >
            {metric.name}
          </Link>
          {isNew(metric, oldest, now) && (
            <>
              {' '}
              <Label isCompact color="blue" title="It came within the last day">
                new
              </Label>
            </>
          )}
        </>
      ),
    },
    {
      title: 'Kind',
      cell: (metric) => (
        <Label isCompact variant="outline" title={kindWords[metric.type]}>
          {metric.type}
        </Label>
      ),
    },
    { title: 'Series', cell: (metric) => metric.series.toLocaleString('en-US') },
    { title: 'Last value', cell: (metric) => <Ago time={metric.lastTime * 1000} /> },
  ];
}

/** `label`: of the table of what stands in no branch. */
function Branches({ of, label, columns }: { of: Branch; label: string; columns: readonly Column<Metric>[] }) {
  return (
    <>
      {of.branches.map((branch) => (
        <Folded key={branch.prefix} branch={branch} columns={columns} />
      ))}
      {of.metrics.length > 0 && (
        <ListTable label={label} rows={of.metrics} keyOf={(metric) => metric.name} columns={columns} />
      )}
    </>
  );
}

function Folded({ branch, columns }: { branch: Branch; columns: readonly Column<Metric>[] }) {
  const [open, setOpen] = useState(false);
  return (
    <ExpandableSection
      toggleText={`${branch.prefix} (${branch.count.toLocaleString('en-US')})`}
      isExpanded={open}
      onToggle={(_event, now) => setOpen(now)}
      isIndented
    >
      {open && <Branches of={branch} label={`Metrics below ${branch.prefix}`} columns={columns} />}
    </ExpandableSection>
  );
}

/** The list of what was found; searched for, it is flat: the names are what is looked for. */
function Metrics(props: { found: Found; label: string; flat: boolean; filters?: View['filters'] }) {
  const { found, label, flat, filters = [] } = props;
  const now = useNow(60_000) / 1000;
  const columns = columnsOf(found.oldest, now, filters);
  const { metrics, total } = found;
  const recent = metrics.filter((metric) => isNew(metric, found.oldest, now)).length;
  const of = flat ? { prefix: '', count: metrics.length, branches: [], metrics } : treeOf(metrics);
  return (
    <>
      <Branches of={of} label={label} columns={columns} />
      <p className="cistern-quiet">
        {metrics.length < total
          ? `${metrics.length.toLocaleString('en-US')} of ${plural(total, 'metric')} are listed: a part of the name finds the others`
          : plural(total, 'metric')}
        {recent > 0 && `, ${recent.toLocaleString('en-US')} new since yesterday`}
      </p>
    </>
  );
}

/** Those of a list that are among names. */
function within(found: Found, names: ReadonlySet<string> | undefined): Found {
  if (names === undefined) return found;
  const metrics = found.metrics.filter(({ name }) => names.has(name));
  return { ...found, metrics, total: metrics.length };
}

/** `filters`: only metrics with a series that has these labels. */
export function MetricList({ filters }: { filters: View['filters'] }) {
  const filtered = filters.length > 0;
  const chosen = selector({ metric: '', filters });
  const names = useQuery({
    queryKey: ['metrics', 'names', chosen],
    queryFn: ({ signal }) => namesOf(chosen, signal),
    refetchInterval: 30_000,
    enabled: filtered,
  });
  const [text, setText] = useState('');
  const [ownOpen, setOwnOpen] = useState(false);
  const sent = useMetrics('sent', text, MOST);
  const searched = text !== '';
  const own = useMetrics('own', text, searched || ownOpen ? MOST : 1);
  const shown = searched || ownOpen;
  const nothing = sent.data?.total === 0;
  // Who watches the first sample come goes on to see it, and the lines that he may not have pasted yet.
  const [began, setBegan] = useState(false);
  if (nothing && !searched && !began) setBegan(true);
  const error = sent.error ?? own.error ?? names.error;
  return (
    <>
      <SearchInput
        aria-label="Find a metric"
        placeholder="Find a metric"
        value={text}
        onChange={(_event, value) => setText(value)}
        onClear={() => setText('')}
        className="cistern-find"
      />
      {error && (
        <ProblemAlert
          error={error}
          retry={() => {
            void sent.refetch();
            void own.refetch();
          }}
          stale={sent.data !== undefined}
        />
      )}
      {(nothing || began) && !searched && !filtered && (
        <FirstSample first={nothing ? undefined : sent.data?.metrics[0]} />
      )}
      {filtered && sent.data && names.data && (
        <p>
          Only what has {filters.map(([label, value]) => `${label} ${value}`).join(', ')}.{' '}
          <Link to="/analytics/explore">All metrics</Link>
        </p>
      )}
      {sent.data && !nothing && (
        <section aria-labelledby="metrics-sent">
          <Title headingLevel="h2" size="lg" id="metrics-sent">
            Sent here
          </Title>
          <Metrics
            found={within(sent.data, names.data)}
            label="Metrics"
            flat={searched || filtered}
            filters={filters}
          />
        </section>
      )}
      {nothing && searched && own.data?.total === 0 && (
        <EmptyState headingLevel="h2" titleText={`No metric has “${text}” in its name`} variant="sm">
          <EmptyStateBody>Part of a name is enough; try fewer letters.</EmptyStateBody>
        </EmptyState>
      )}
      {own.data !== undefined && own.data.total > 0 && (
        <section aria-label="The appliance’s own metrics">
          <ExpandableSection
            toggleText={`The appliance’s own (${own.data.total.toLocaleString('en-US')})`}
            isExpanded={shown}
            onToggle={(_event, now) => setOwnOpen(now)}
          >
            {shown && <Metrics found={own.data} label="The appliance’s own metrics" flat={searched} />}
          </ExpandableSection>
        </section>
      )}
    </>
  );
}
