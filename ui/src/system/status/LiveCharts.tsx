// What the appliance measures of itself, under one time axis: measurements taken in, processor, disks. Also where the
// wizard ends: data is already moving.
import { Card, CardBody, CardTitle } from '@patternfly/react-core';
import { useMemo } from 'react';
import { Link } from 'react-router';
import { seriesName } from '../../analytics/explore/expression.ts';
import { aligned, timesOf, useSeries } from '../../analytics/useWindow.ts';
import { LineChart } from '../../charts/LineChart.tsx';
import type { Unit } from '../../words/format.ts';
import { quantity } from '../../words/format.ts';

interface Chart {
  readonly title: string;
  readonly query: string;
  readonly metric: string;
  readonly unit: Unit;
  readonly perSecond: boolean;
}
const charts: readonly Chart[] = [
  {
    title: 'Measurements taken in, by input',
    query: 'sum by (input) (rate(cistern_storaged_samples_total[5s]))',
    metric: 'cistern_storaged_samples_total',
    unit: 'plain',
    perSecond: true,
  },
  {
    title: 'Processor in use',
    query: 'sum(cistern_host_cpu_ratio{mode!="idle"})',
    metric: 'cistern_host_cpu_ratio',
    unit: 'ratio',
    perSecond: false,
  },
  {
    title: 'Disk transfers, by type',
    query: 'sum by (type) (rate(cistern_host_disk_bytes_total[5s]))',
    metric: 'cistern_host_disk_bytes_total',
    unit: 'bytes',
    perSecond: true,
  },
];

/** Even the first seconds are drawn on an axis of a minute. */
const SHORTEST = 60;

function Live({ chart, range }: { chart: Chart; range: number }) {
  const { data } = useSeries(chart.query, { range, end: null, step: range > 900 ? 5 : 1 });
  const drawn = useMemo(() => {
    if (data === undefined) return undefined;
    const lines = data.series.map(({ metric, values }) => ({
      label: seriesName(metric, 'total'),
      values: aligned(data.window, values),
    }));
    lines.sort((a, b) => a.label.localeCompare(b.label));
    // A machine that has just started shows what there is, not an hour of nothing.
    const first = Math.min(...data.series.map(({ values }) => values[0]?.[0] ?? Number.POSITIVE_INFINITY));
    const start = Math.max(data.window.start, Math.min(first, data.window.end - SHORTEST));
    return { times: timesOf(data.window), lines, start };
  }, [data]);
  const latest = drawn?.lines
    .map((line) => {
      const value = line.values.findLast((one) => one !== null);
      return value === undefined || value === null
        ? ''
        : `${line.label} ${quantity(value, chart.unit, chart.perSecond)}`;
    })
    .filter(Boolean)
    .join(' · ');
  return (
    <Card component="section" aria-label={chart.title}>
      <CardTitle component="h2">
        <Link to={`/analytics/explore?metric=${chart.metric}`}>{chart.title}</Link>
      </CardTitle>
      <CardBody>
        {drawn === undefined || data === undefined ? (
          <div className="cistern-chart cistern-chart-waiting" style={{ height: 140 }} />
        ) : (
          <LineChart
            label={`${chart.title}: ${latest || 'no values yet'}`}
            times={drawn.times}
            lines={drawn.lines}
            unit={chart.unit}
            perSecond={chart.perSecond}
            start={drawn.start}
            end={data.window.end}
            height={140}
          />
        )}
        <p className="cistern-quiet cistern-latest">
          {latest === undefined ? '\u00a0' : latest || 'No values yet: they appear with the first second.'}
        </p>
      </CardBody>
    </Card>
  );
}

export function LiveCharts({ range = 3600, only }: { range?: number; only?: number }) {
  return (
    <div className="cistern-live">
      {charts.slice(0, only).map((chart) => (
        <Live key={chart.metric} chart={chart} range={range} />
      ))}
    </div>
  );
}
