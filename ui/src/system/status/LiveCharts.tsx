// What the appliance measures of itself, under one time axis: measurements taken in, processor, disks. Also where the
// wizard ends: data is already moving.
import { Card, CardBody, CardTitle } from '@patternfly/react-core';
import { Link } from 'react-router';
import type { Named } from '../../charts/lines.ts';
import { SmallChart, SmallMultiples } from '../../charts/SmallMultiples.tsx';
import { seriesName } from '../../charts/seriesName.ts';

interface Chart {
  readonly title: string;
  readonly query: string;
  readonly metric: string;
  readonly unit: string;
  readonly perSecond: boolean;
}
const charts: readonly Chart[] = [
  {
    title: 'Measurements taken in, by input',
    query: 'sum by (input) (rate(cistern_storaged_samples_total[5s]))',
    metric: 'cistern_storaged_samples_total',
    unit: 'count',
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

const nameOf = (labels: Readonly<Record<string, string>>): Named => {
  const text = seriesName(labels, 'total');
  return { key: text, text };
};

export function LiveCharts({ range = 3600, only }: { range?: number; only?: number }) {
  return (
    <SmallMultiples range={range}>
      {charts.slice(0, only).map(({ title, query, metric, unit, perSecond }) => (
        <Card key={metric} component="section" aria-label={title}>
          <CardTitle component="h2">
            <Link to={`/analytics/explore?metric=${metric}`}>{title}</Link>
          </CardTitle>
          <CardBody>
            <SmallChart {...{ title, query, unit, perSecond, nameOf }} />
          </CardBody>
        </Card>
      ))}
    </SmallMultiples>
  );
}
