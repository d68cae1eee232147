// The alerts that this domain can raise: what the pages, the mails and the traps say of each.
import { alertClass } from '../../alerting/catalogue/alert-class.ts';
import { sentences } from '../../alerting/catalogue/words.ts';
import { duration, plural } from '../../base/words.ts';

export interface StoreDamageArgs {
  readonly block: string;
  readonly setAside: boolean;
  /** The times it covers, in words; null when that is unreadable too. */
  readonly span: string | null;
  readonly detail: string;
}

export const storeDamaged = alertClass<StoreDamageArgs>({
  class: 'store.damaged',
  severity: () => 'critical',
  title: ({ block }) => `Stored measurements are damaged (block ${block})`,
  text: ({ block, setAside, span, detail }) =>
    `The block ${block}${span === null ? '' : ` with measurements from ${span}`} ${setAside ? 'cannot be read' : 'cannot be read as a whole'}: ${detail}.`,
  impact: ({ setAside }) =>
    setAside
      ? 'Charts and queries lack the measurements of this block; all others are there.'
      : 'Charts and queries lack some measurements of this block; answers that are touched by it carry a warning.',
  response: ({ setAside }) =>
    setAside
      ? 'The block was set aside and is kept; everything else is served.'
      : 'What can be read of the block is served, and it is kept as it is.',
  action: ({ block }) =>
    `Restore blocks/${block}.block from a snapshot of the telemetry dataset and scrub its pool. If there is none, stop storaged and run “storaged repair --data /srv/telemetry”, which saves what can be read.`,
  page: () => '/storage',
  labels: ({ block }) => ({ block }),
  dedupKey: ({ block }) => `store.damaged/${block}`,
  example: { block: '00000000000000a7', setAside: false, span: null, detail: 'its index' },
  dedupExample: 'store.damaged/00000000000000a7',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
});

export const journalDamaged = alertClass<Pick<StoreDamageArgs, 'detail'>>({
  class: 'journal.damaged',
  severity: () => 'critical',
  title: () => 'Measurements were lost from the journal',
  text: ({ detail }) =>
    `Measurements that the telemetry store had taken were not there any more when it was started: ${detail}.`,
  impact: () => 'Charts and queries lack some of the last measurements before that start.',
  response: () => 'All that could be read of the journal was taken over, and is served.',
  action: () =>
    'Scrub the pool of the telemetry, and look at its disks and at the memory of the machine. This ends with the next start of storaged.',
  page: () => '/storage',
  labels: () => ({ service: 'storaged' }),
  dedupKey: () => 'journal.damaged/storaged',
  example: { detail: 'its index' },
  dedupExample: 'journal.damaged/storaged',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
});

export interface RefusingArgs {
  readonly since: string;
  /** As the store counts it: storage_error, memory_limit, series_limit or series_rate. */
  readonly because: string;
  readonly detail: string;
  readonly pool: string | null;
}

export const storeRefusing = alertClass<RefusingArgs>({
  class: 'store.refusing',
  severity: () => 'critical',
  title: () => 'The telemetry store refuses measurements',
  text: ({ since, detail }) => `Since ${since} measurements are refused: ${sentences(detail)}`,
  impact: () =>
    'What is refused is lost unless its sender keeps it and sends it again: Prometheus and OpenTelemetry do, statsd and Graphite do not.',
  response: () =>
    'Senders are informed where their protocol has an answer. What is stored can be read; measurements are taken again as soon as that is possible.',
  action: ({ because }) =>
    because === 'storage_error'
      ? 'Make room: raise the quota of the telemetry dataset, destroy snapshots of it, add disks to its pool, or keep measurements for less long. If there is room, look at the disks of the pool.'
      : because === 'memory_limit'
        ? 'See whether the pool of the telemetry is full or slow: what is in memory cannot be written. Otherwise give the store more memory, or send fewer series.'
        : 'Find out who sends a new series with each measurement, as a label that holds a time or an identifier does, and send it without that label.',
  page: () => '/analytics/worksheets/store',
  labels: () => ({ service: 'storaged' }),
  dedupKey: () => 'store.refusing/storaged',
  example: { since: '2026-01-01T02:00:00.000Z', because: 'storage_error', detail: 'its index', pool: 'tank' },
  dedupExample: 'store.refusing/storaged',
  dependsOn: ({ pool }) => (pool === null ? [] : [`pool.faulted/${pool}`, `pool.suspended/${pool}`]),
  visibleAfterSeconds: 10,
});

export interface BehindArgs {
  readonly lagSeconds: number;
  readonly pool: string | null;
}

export const storeBehind = alertClass<BehindArgs>({
  class: 'store.behind',
  severity: () => 'warning',
  title: () => 'Measurements wait in the journal',
  text: ({ lagSeconds }) =>
    `What was measured in the last ${duration(lagSeconds)} is in the journal and in memory only: it could not be written into blocks.`,
  impact: () =>
    'Nothing is lost, and all of it can be read. The journal grows, a start of the store takes longer, and when memory is full measurements are refused.',
  response: () => 'It is tried again every few seconds. What waits is kept, also over a restart.',
  action: () =>
    'See whether the pool of the telemetry is full, or one of its disks slow or faulty. The log of storaged says why the last attempt failed. If all is well there, make a support bundle.',
  page: () => '/analytics/worksheets/store',
  labels: () => ({ service: 'storaged' }),
  dedupKey: () => 'store.behind/storaged',
  example: { lagSeconds: 10_800, pool: 'tank' },
  dedupExample: 'store.behind/storaged',
  dependsOn: ({ pool }) => (pool === null ? [] : [`pool.faulted/${pool}`, `pool.suspended/${pool}`]),
  visibleAfterSeconds: 0,
});

export interface DropArgs {
  /** As `statsd`. */
  readonly input: string;
  readonly dropped: number;
}

export const datagramsDropped = alertClass<DropArgs>({
  class: 'datagrams.dropped',
  severity: () => 'warning',
  title: ({ input }) => `Datagrams of ${input} are dropped`,
  text: ({ input, dropped }) =>
    `${plural(dropped, 'datagram')} of ${input} ${dropped === 1 ? 'was' : 'were'} dropped: they came faster than they could be taken in.`,
  impact: () =>
    'Measurements are missing: counters are too low, and gauges may be old. Their senders are not informed.',
  response: ({ input }) =>
    `The kernel holds what its buffer has room for, and each drop is counted: cistern_storaged_${input}_kernel_drops_total.`,
  action: () =>
    'See whether the processors of the appliance are busy. Otherwise have the clients put more metrics into each datagram, send less often, or use TCP, which waits instead.',
  page: () => '/analytics/worksheets/store',
  labels: ({ input }) => ({ input }),
  dedupKey: ({ input }) => `datagrams.dropped/${input}`,
  example: { input: 'statsd', dropped: 1200 },
  dedupExample: 'datagrams.dropped/statsd',
  dependsOn: () => ['service.failed/storaged', 'service.restarting/storaged'],
  visibleAfterSeconds: 0,
});

export const alertClasses = [storeDamaged, journalDamaged, storeRefusing, storeBehind, datagramsDropped] as const;
