// The worksheets that come with the appliance. A statistic that this platform does not have is left out of the page by
// its chart, which says why; nothing here depends on what is running.
import type { Chart, Worksheet } from './schema.ts';

type Ready = Pick<Worksheet, 'id' | 'name' | 'description' | 'rangeSeconds'> & { charts: Omit<Chart, 'id'>[] };

const statistic = (name: string, more: Omit<Chart, 'id' | 'statistic'> = {}) => ({ statistic: name, ...more });
const query = (title: string, text: string, unit: string, more: Omit<Chart, 'id' | 'query'> = {}) => ({
  title,
  query: text,
  unit,
  ...more,
});

const sheets: readonly Ready[] = [
  {
    id: 'machine',
    name: 'What is this machine doing?',
    description: 'Processor, memory, disks and network at once: where to begin when something is slow.',
    rangeSeconds: 300,
    charts: [
      statistic('cpu.utilization[mode]'),
      statistic('memory.bytes[component]'),
      statistic('disk.bytes[disk]'),
      statistic('vdev.ops[latency]', { quantiles: [0.99] }),
      statistic('net.bytes[direction]'),
    ],
  },
  {
    id: 'disks',
    name: 'Disks',
    description:
      'A slow disk is a line of its own here before it fails. Go on from latency to the disk, then to the process.',
    rangeSeconds: 900,
    charts: [
      statistic('disk.utilization[disk]', { display: 'lines' }),
      statistic('disk.utilization[utilization]'),
      statistic('io.ops[latency]', { quantiles: [0.5, 0.99] }),
      statistic('disk.ops[disk]'),
      statistic('disk.bytes[type]'),
      statistic('arc.accesses[result]'),
    ],
  },
  {
    id: 'network',
    name: 'Network and clients',
    description: 'Who talks to this machine, how much, and how long they wait.',
    rangeSeconds: 900,
    charts: [
      statistic('net.bytes[device]'),
      statistic('net.packets[direction]'),
      statistic('tcp.retransmits[client]'),
      statistic('tcp.bytes[client]'),
      statistic('http.requests[client]'),
      statistic('http.requests[latency]', { quantiles: [0.5, 0.99] }),
    ],
  },
  {
    id: 'store',
    name: 'The telemetry store',
    description: 'What is taken in, what is refused, and how far behind the journal is.',
    rangeSeconds: 900,
    charts: [
      query('Samples taken in, by input', 'sum by (input) (rate(cistern_storaged_samples_total[5s]))', 'samples/s'),
      query('Samples refused, by reason', 'sum by (reason) (rate(cistern_storaged_rejected_total[5s]))', 'samples/s'),
      query('Series', 'cistern_storaged_series', 'count'),
      query('How long queries take', 'cistern_storaged_query_seconds', 'seconds', { quantiles: [0.5, 0.99] }),
      query('Processor, by mode', 'cistern_host_cpu_ratio{mode!="idle"}', 'ratio'),
      query('Disk bytes, by disk', 'sum by (disk) (rate(cistern_host_disk_bytes_total[5s]))', 'bytes/s'),
    ],
  },
  {
    id: 'people',
    name: 'People, not percentages',
    description:
      'A percentile says how bad it was for the unluckiest share; it does not say how many people that is. Drag the limit line to what is too slow, and read how many had to wait longer.',
    rangeSeconds: 3600,
    charts: [
      statistic('http.requests[latency]', { limit: 1, quantiles: [0.5, 0.99] }),
      statistic('io.ops[latency]', { limit: 0.1, quantiles: [0.5, 0.99] }),
      statistic('http.requests[status]'),
    ],
  },
];

/** As long as the appliance is itself: the same on each, and of no particular day. */
const MADE = '2026-01-01T00:00:00.000Z';

export const readyWorksheets: readonly Worksheet[] = sheets.map((sheet) => ({
  ...sheet,
  charts: sheet.charts.map((chart, index) => ({ id: `c${index + 1}`, ...chart })),
  shared: true,
  end: null,
  annotations: [],
  owner: 'Cistern',
  ready: true,
  mayChange: false,
  createdAt: MADE,
  updatedAt: MADE,
}));
