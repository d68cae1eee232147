// Which of the appliance's own figures says most about an alert that no rule has raised.
import type { AlertFacts } from '../alerts/index.ts';

interface ClassChart {
  readonly title: string;
  readonly expression: string;
}

const quoted = (text = '') => JSON.stringify(text);
const disks: ClassChart = {
  title: 'Bytes to and from all disks',
  expression: 'sum by (type) (rate(cistern_host_disk_bytes_total[30s]))',
};

/** By the class, or what it begins with. */
const CHARTS: readonly (readonly [classes: string, chart: (labels: Record<string, string>) => ClassChart])[] = [
  [
    'disk.',
    ({ disk }) => ({
      title: `Bytes to and from ${disk}`,
      expression: `rate(cistern_host_disk_bytes_total{disk=${quoted(disk)}}[30s])`,
    }),
  ],
  ...['pool.', 'scrub.', 'resilver.', 'dataset.', 'snapshots.', 'replication.'].map(
    (classes) => [classes, () => disks] as const,
  ),
  [
    'link.down',
    ({ link }) => ({
      title: `Bytes on ${link}`,
      expression: `rate(cistern_host_network_bytes_total{device=${quoted(link)}}[30s])`,
    }),
  ],
  ...['store.', 'journal.', 'input.'].map(
    (classes) =>
      [
        classes,
        () => ({
          title: 'Samples refused, by reason',
          expression: 'sum by (reason) (rate(cistern_storaged_rejected_total[1m]))',
        }),
      ] as const,
  ),
  ...['service.', 'process.'].map(
    (classes) => [classes, () => ({ title: 'Memory', expression: 'cistern_host_memory_bytes' })] as const,
  ),
];

export function classChart({ class: name, labels }: Pick<AlertFacts, 'class' | 'labels'>): ClassChart | null {
  return CHARTS.find(([classes]) => name.startsWith(classes))?.[1](labels) ?? null;
}
