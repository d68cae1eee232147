// Every metric the store knows, to find one by name.
import { EmptyState, EmptyStateBody, Label, SearchInput } from '@patternfly/react-core';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { listMetrics } from '../../api/telemetry.ts';
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
        <Table aria-label="Metrics" variant="compact" gridBreakPoint="grid-md">
          <Thead>
            <Tr>
              <Th>Name</Th>
              <Th>Kind</Th>
              <Th>Series</Th>
              <Th>Last value</Th>
            </Tr>
          </Thead>
          <Tbody>
            {data.map((metric) => (
              <Tr key={metric.name}>
                <Td dataLabel="Name">
                  <Link to={`/analytics/explore?metric=${encodeURIComponent(metric.name)}`} className="cistern-name">
                    {metric.name}
                  </Link>
                </Td>
                <Td dataLabel="Kind">
                  <Label isCompact variant="outline" title={kindWords[metric.type]}>
                    {metric.type}
                  </Label>
                </Td>
                <Td dataLabel="Series">{metric.series.toLocaleString('en-US')}</Td>
                <Td dataLabel="Last value">
                  <Ago time={metric.lastTime * 1000} />
                </Td>
              </Tr>
            ))}
          </Tbody>
        </Table>
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
