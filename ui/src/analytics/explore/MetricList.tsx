// Every metric the store knows, to find one by name.
import { EmptyState, EmptyStateBody, Label, SearchInput } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { listMetrics } from '../../api/telemetry.ts';
import { ListTable } from '../../shells/ListTable.tsx';
import { Ago } from '../../words/Ago.tsx';
import { plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';

export const kindWords = {
  gauge: 'gauge',
  counter: 'counter, shown per second',
  histogram: 'histogram, shown as a heatmap',
} as const;

export function MetricList() {
  const [text, setText] = useState('');
  const { data, error, refetch } = useQuery({
    queryKey: ['metrics', text],
    queryFn: ({ signal }) => listMetrics(text, signal),
    refetchInterval: 5_000,
    placeholderData: (before) => before,
  });
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
      {error && <ProblemAlert error={error} retry={() => void refetch()} stale={data !== undefined} />}
      {data && data.length > 0 && (
        <ListTable
          label="Metrics"
          rows={data}
          keyOf={(metric) => metric.name}
          columns={[
            {
              title: 'Name',
              cell: (metric) => (
                <Link to={`/analytics/explore?metric=${encodeURIComponent(metric.name)}`} className="cistern-name">
                  {metric.name}
                </Link>
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
          ]}
        />
      )}
      {data?.length === 0 && (
        <EmptyState
          headingLevel="h2"
          titleText={text ? `No metric has “${text}” in its name` : 'No metric has arrived yet'}
          variant="sm"
        >
          <EmptyStateBody>
            {text
              ? 'Part of a name is enough; try fewer letters.'
              : 'Send statsd to UDP or TCP port 8125, or Prometheus remote write to /api/v1/write with an API token.'}
          </EmptyStateBody>
        </EmptyState>
      )}
      {data && data.length > 0 && <p className="cistern-quiet">{plural(data.length, 'metric')}</p>}
    </>
  );
}
