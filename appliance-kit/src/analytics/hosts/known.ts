// Metrics whose names are known: how long a host's work waits, and what charts are made of a host. The manual's table
// (docs/manual/hosts.md) is of this.
import { BY_HOST } from '../../base/hosts.ts';

export interface Waiting {
  /** What it is, in words. */
  readonly measure: 'pressure' | 'waiting for disks' | 'run queue';
  readonly source: string;
  /** One value a host, or one for each exporter: a share, 0 to 1. */
  readonly expression: string;
}

const pressure = (source: string, expression: string): Waiting => ({ measure: 'pressure', source, expression });
const disks = (source: string, expression: string): Waiting => ({ measure: 'waiting for disks', source, expression });
/** What of the threads that could run does not: of load 8 on 4 processors a half. */
const queue = (source: string, load: string, processors: string): Waiting => ({
  measure: 'run queue',
  source,
  expression: `clamp_min(1 - (${processors}) / (${load}), 0)`,
});
const node = (kind: string) =>
  pressure('node_exporter', `max ${BY_HOST} (rate(node_pressure_${kind}_waiting_seconds_total[2m]))`);

/** How long work waits, the best measure first: of a host the first counts that it has; of several of one kind the greatest. */
export const WAITING: readonly Waiting[] = [
  node('cpu'),
  node('io'),
  node('memory'),
  pressure('Telegraf (kernel, psi)', `max ${BY_HOST} (pressure_avg10{type="some"}) / 100`),
  disks('node_exporter', `avg ${BY_HOST} (rate(node_cpu_seconds_total{mode="iowait"}[2m]))`),
  disks('Telegraf (cpu)', `max ${BY_HOST} (cpu_usage_iowait{cpu="cpu-total"}) / 100`),
  disks('collectd (cpu)', `avg ${BY_HOST} ({__name__="collectd.cpu.percent", type_instance="wait"}) / 100`),
  queue('node_exporter', `max ${BY_HOST} (node_load1)`, `count ${BY_HOST} (node_cpu_seconds_total{mode="idle"})`),
  queue('Telegraf (system)', `max ${BY_HOST} (system_load1)`, `max ${BY_HOST} (system_n_cpus)`),
];

/** Less than a hundredth of the time is no difference between peers. */
export const WAITING_LEAST = 0.01;

type Select = (metric: string) => string;

interface KnownChart {
  readonly title: string;
  readonly unit: string;
  /** What it is drawn of; the first has to be there. */
  readonly metrics: readonly string[];
  readonly query: (select: Select) => string;
}

const one = (title: string, unit: string, metric: string): KnownChart => ({
  ...{ title, unit, metrics: [metric] },
  query: (select) => select(metric),
});
const rate = (title: string, unit: string, metric: string): KnownChart => ({
  ...{ title, unit, metrics: [metric] },
  query: (select) => `rate(${select(metric)}[1m])`,
});

/** The charts of a host's page, by what it sends: what waits first. */
export const CHARTS: readonly KnownChart[] = [
  rate('Waiting for the processor', 'ratio', 'node_pressure_cpu_waiting_seconds_total'),
  rate('Waiting for disks', 'ratio', 'node_pressure_io_waiting_seconds_total'),
  rate('Waiting for memory', 'ratio', 'node_pressure_memory_waiting_seconds_total'),
  {
    ...{ title: 'Processor, by mode', unit: 'ratio', metrics: ['node_cpu_seconds_total'] },
    query: (select) => `avg by (mode) (rate(${select('node_cpu_seconds_total')}[1m]))`,
  },
  one('Load', '', 'node_load1'),
  one('Memory that is available', 'bytes', 'node_memory_MemAvailable_bytes'),
  rate('Disks, busy', 'ratio', 'node_disk_io_time_seconds_total'),
  one('File systems, free', 'bytes', 'node_filesystem_avail_bytes'),
  rate('Network, received', 'bytes/s', 'node_network_receive_bytes_total'),
  rate('Network, sent', 'bytes/s', 'node_network_transmit_bytes_total'),
  one('Pressure', '%', 'pressure_avg10'),
  one('Waiting for disks', '%', 'cpu_usage_iowait'),
  one('Processor, in use', '%', 'cpu_usage_user'),
  one('Load', '', 'system_load1'),
  one('Memory in use', '%', 'mem_used_percent'),
  one('File systems, in use', '%', 'disk_used_percent'),
  rate('Network, received', 'bytes/s', 'net_bytes_recv'),
  rate('Network, sent', 'bytes/s', 'net_bytes_sent'),
  one('Processor, by state', '%', 'collectd.cpu.percent'),
  one('Load', '', 'collectd.load.load.shortterm'),
  one('Memory', 'bytes', 'collectd.memory.memory'),
];
