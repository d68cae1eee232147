// Every kind of alert the appliance can raise, as declared values. What is declared here is what the pages, the mails
// and the traps say; nobody words an alert anywhere else.

import { duration, enumerate, figure, percent, plural, size } from '../../http/schema/words.ts';
import { serviceFact } from '../../system/services/catalogue.ts';
import type { Severity } from '../thresholds/schema.ts';

export interface AlertClass<Args> {
  /** Stable: rules, filters and traps compare it. */
  readonly class: string;
  readonly severity: (args: Args) => Severity;
  /** All that it can have, when it is not always the same. */
  readonly severities?: readonly Severity[];
  readonly title: (args: Args) => string;
  readonly text: (args: Args) => string;
  /** What it means for the users of the appliance. */
  readonly impact: (args: Args) => string;
  /** What the appliance does about it by itself. */
  readonly response: (args: Args) => string;
  /** What the reader should do. */
  readonly action: (args: Args) => string;
  /** The page of the web interface to go to. */
  readonly page: (args: Args) => string;
  readonly labels: (args: Args) => Record<string, string>;
  /** The same trouble has the same key, and is never active twice. */
  readonly dedupKey: (args: Args) => string;
  readonly dedupExample: string;
  /** Keys of alerts that explain this one: while one of them is active, this one is not raised. */
  readonly dependsOn: (args: Args) => string[];
  /** How long it has to last before anybody is told: shorter trouble mends itself. */
  readonly visibleAfterSeconds: number;
  /** Something that happened, not something that lasts: it is never active. */
  readonly happening?: boolean;
  /** Kept in the log and sent to nobody, as long as nobody has decided otherwise. */
  readonly muted?: boolean;
}

const declare = <Args>(alert: AlertClass<Args>): AlertClass<Args> => alert;

export interface ThresholdArgs {
  readonly ruleId: string;
  readonly ruleName: string;
  readonly severity: Severity;
  readonly direction: 'above' | 'below';
  readonly expression: string;
  readonly value: number;
  readonly limit: number;
  readonly labels: Record<string, string>;
  readonly seriesKey: string;
}

/** As `host="web1", disk="sda"`; nothing for a series without labels. */
export function labelWords(labels: Record<string, string>): string {
  return Object.entries(labels)
    .filter(([name]) => name !== '__name__')
    .map(([name, value]) => `${name}="${value}"`)
    .join(', ');
}

const ofSeries = (labels: Record<string, string>) => (labelWords(labels) === '' ? '' : ` (${labelWords(labels)})`);

export const thresholdExceeded = declare<ThresholdArgs>({
  class: 'threshold.exceeded',
  severity: ({ severity }) => severity,
  severities: ['critical', 'warning', 'info'],
  title: ({ ruleName, labels }) => `${ruleName}${ofSeries(labels)}`,
  text: ({ ruleName, value, limit, direction, labels }) =>
    `${ruleName}${ofSeries(labels)} is ${figure(value)}, ${direction} the limit of ${figure(limit)}.`,
  impact: () => 'A value somebody set a limit for is beyond it. What that means is for whoever set the limit to say.',
  response: () => 'The appliance goes on measuring, and tells when the value is back within its limit.',
  action: ({ expression }) => `Look at the chart of ${expression} and find out what changed.`,
  page: ({ ruleId }) => `/alerts/thresholds/${ruleId}`,
  labels: ({ labels }) => labels,
  dedupKey: ({ ruleId, seriesKey }) => `threshold.exceeded/${ruleId}/${seriesKey}`,
  dedupExample: 'threshold.exceeded/th-0mi5x3k9f-3f9c2b7a10/[["host","web1"]]',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
});

export interface NoDataArgs {
  readonly ruleId: string;
  readonly ruleName: string;
  readonly severity: Severity;
  readonly expression: string;
  readonly labels: Record<string, string>;
  readonly seriesKey: string;
  /** How long there has been no value. */
  readonly noDataSeconds: number;
}

export const thresholdNoData = declare<NoDataArgs>({
  class: 'threshold.nodata',
  severity: ({ severity }) => severity,
  severities: ['critical', 'warning', 'info'],
  title: ({ ruleName, labels }) => `${ruleName}${ofSeries(labels)} has no data`,
  text: ({ ruleName, labels, noDataSeconds }) =>
    `${ruleName}${ofSeries(labels)} has had no value for ${duration(noDataSeconds)}.`,
  impact: () => 'Whether the value is within its limit is not known: what sent it may be down.',
  response: () => 'The appliance goes on looking, and tells when values arrive again.',
  action: ({ expression }) =>
    `See whether what sends ${expression} is running and reaches the appliance. If it is gone for good, have the rule forget the series.`,
  page: ({ ruleId }) => `/alerts/thresholds/${ruleId}`,
  labels: ({ labels }) => labels,
  dedupKey: ({ ruleId, seriesKey }) => `threshold.nodata/${ruleId}/${seriesKey}`,
  dedupExample: 'threshold.nodata/th-0mi5x3k9f-3f9c2b7a10/[["host","web1"]]',
  dependsOn: () => ['service.failed/storaged'],
  visibleAfterSeconds: 0,
});

export interface RuleErrorArgs {
  readonly ruleId: string;
  readonly ruleName: string;
  /** The store's own words. */
  readonly error: string;
}

/** A rule that is not watched looks like one whose value is well: nobody would miss its alerts. */
export const thresholdFailing = declare<RuleErrorArgs>({
  class: 'threshold.failing',
  severity: () => 'warning',
  title: ({ ruleName }) => `The rule “${ruleName}” cannot be evaluated`,
  text: ({ ruleName, error }) => `“${ruleName}” watches nothing: ${sentences(error)}`,
  impact: () => 'Whether its value is within its limit is not known. No alert of it is raised, and none clears.',
  response: () => 'It is tried again every few seconds.',
  action: () => 'Correct the rule: its page shows what is wrong, and where. Or switch it off.',
  page: ({ ruleId }) => `/alerts/thresholds/${ruleId}`,
  labels: ({ ruleName }) => ({ rule: ruleName }),
  dedupKey: ({ ruleId }) => `threshold.failing/${ruleId}`,
  dedupExample: 'threshold.failing/th-0mi5x3k9f-3f9c2b7a10',
  dependsOn: () => ['service.failed/storaged'],
  // A rule that is being written is wrong for a while.
  visibleAfterSeconds: 300,
});

export interface PoolArgs {
  readonly pool: string;
  readonly sentence: string;
  readonly system: boolean;
  readonly telemetry: boolean;
  /** Devices that ZFS has taken out of use: each has an alert of its own, which explains this one. */
  readonly faulted?: readonly string[];
}

const pool = (args: PoolArgs) => ({ pool: args.pool });
const poolPage = ({ pool: name }: PoolArgs) => `/storage/pools/${encodeURIComponent(name)}`;
const poolKey = (kind: string) => (args: PoolArgs) => `${kind}/${args.pool}`;

export const poolDegraded = declare<PoolArgs>({
  class: 'pool.degraded',
  severity: () => 'warning',
  title: (args) => `Pool “${args.pool}” is degraded`,
  text: (args) => args.sentence,
  impact: () => 'No data is lost, but it has fewer copies than intended: another failure may lose some.',
  response: () => 'The pool goes on with the remaining disks, and with a spare if it has one.',
  action: () => 'Reseat or replace the disk that is named; the pool then resilvers by itself.',
  page: poolPage,
  labels: pool,
  dedupKey: poolKey('pool.degraded'),
  dedupExample: 'pool.degraded/tank',
  dependsOn: (args) => [
    `pool.faulted/${args.pool}`,
    `pool.suspended/${args.pool}`,
    ...(args.faulted ?? []).map((device) => `disk.faulted/${args.pool}/${device}`),
  ],
  visibleAfterSeconds: 0,
});

const poolDown = (args: PoolArgs) =>
  args.telemetry
    ? 'No measurement can be stored or read until it is back.'
    : args.system
      ? 'The appliance cannot keep its own state and may stop working.'
      : 'What is stored on it cannot be reached.';

export const poolFaulted = declare<PoolArgs>({
  class: 'pool.faulted',
  severity: () => 'critical',
  title: (args) => `Pool “${args.pool}” is faulted`,
  text: (args) => args.sentence,
  impact: poolDown,
  response: () => 'ZFS has stopped using the pool to protect what is on it.',
  action: () => 'Connect the missing disks again. If they are lost, restore the pool from a replica or a backup.',
  page: poolPage,
  labels: pool,
  dedupKey: poolKey('pool.faulted'),
  dedupExample: 'pool.faulted/tank',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
});

export const poolSuspended = declare<PoolArgs>({
  class: 'pool.suspended',
  severity: () => 'critical',
  title: (args) => `Pool “${args.pool}” is suspended`,
  text: (args) => args.sentence,
  impact: poolDown,
  response: () => 'ZFS holds all reading and writing until the disks answer again; nothing that was written is lost.',
  action: () => 'Check cables and controllers, connect the disks again, then clear the pool.',
  page: poolPage,
  labels: pool,
  dedupKey: poolKey('pool.suspended'),
  dedupExample: 'pool.suspended/tank',
  dependsOn: (args) => [`pool.faulted/${args.pool}`],
  visibleAfterSeconds: 0,
});

export interface ServiceArgs {
  readonly service: string;
  readonly title: string;
  readonly reason: string | null;
  /** The pool that holds the telemetry, if the service needs it. */
  readonly pool: string | null;
}

/** Without these the appliance still does what it is for. */
const MINOR = ['snmpd', 'supportd', 'replicd', 'tracerd'];
const ofService = ({ service }: { service: string }): Severity => (MINOR.includes(service) ? 'warning' : 'critical');

export const serviceFailed = declare<ServiceArgs>({
  class: 'service.failed',
  severity: ofService,
  severities: ['critical', 'warning'],
  title: ({ title, service }) => `${title} (${service}) has failed`,
  text: ({ title, service, reason }) =>
    `${title} (${service}) is not running and is not being restarted.${reason === null ? '' : ` ${reason}`}`,
  impact: ({ service }) => serviceFact(service)?.impact ?? 'What the service does is not being done.',
  response: () => 'It was restarted several times without success. The other services go on.',
  action: ({ title }) => `Restart ${title} on the Services page. If it fails again, make a support bundle.`,
  page: () => '/services',
  labels: ({ service }) => ({ service }),
  dedupKey: ({ service }) => `service.failed/${service}`,
  dedupExample: 'service.failed/storaged',
  dependsOn: ({ pool: name }) => (name === null ? [] : [`pool.faulted/${name}`, `pool.suspended/${name}`]),
  // One poll of the services: a restart that is under way is not a failure.
  visibleAfterSeconds: 10,
});

export interface RestartingArgs {
  readonly service: string;
  readonly title: string;
  readonly reason: string | null;
  /** The pool that holds the telemetry, if the service needs it. */
  readonly pool: string | null;
}

export const serviceRestarting = declare<RestartingArgs>({
  class: 'service.restarting',
  severity: ofService,
  severities: ['critical', 'warning'],
  title: ({ title, service }) => `${title} (${service}) ends again and again`,
  text: ({ title, service, reason }) =>
    `${title} (${service}) was started again three times or more within five minutes.${reason === null ? '' : ` ${reason}`}`,
  impact: ({ service }) => serviceFact(service)?.impact ?? 'What the service does is done with interruptions at best.',
  response: () => 'It is started again each time, without end. This alert ends when it has run for five minutes.',
  action: ({ title }) =>
    `Read on the Services page what the log of ${title} says before each end. If that does not tell what to do, make a support bundle.`,
  page: () => '/services',
  labels: ({ service }) => ({ service }),
  dedupKey: ({ service }) => `service.restarting/${service}`,
  dedupExample: 'service.restarting/storaged',
  dependsOn: ({ service, pool: name }) => [
    `service.failed/${service}`,
    ...(name === null ? [] : [`pool.faulted/${name}`, `pool.suspended/${name}`]),
  ],
  visibleAfterSeconds: 0,
});

export interface FaultArgs {
  readonly faultId: string;
  readonly code: string;
  /** Minor, Major or Critical. */
  readonly faultSeverity: string;
  readonly parts: readonly string[];
  /** Sentences of the system's own. */
  readonly diagnosis: string;
  readonly advice: string;
}

const sentences = (text: string) => (/[.!?]$/.test(text) ? text : `${text}.`);

export const hardwareFaulty = declare<FaultArgs>({
  class: 'hardware.faulty',
  severity: ({ faultSeverity }) => (faultSeverity === 'Minor' ? 'warning' : 'critical'),
  severities: ['critical', 'warning'],
  title: ({ parts, code }) =>
    `The system says that ${parts.length === 0 ? 'a part' : enumerate(parts)} is faulty (${code})`,
  text: ({ diagnosis, code }) => `${sentences(diagnosis)} The system's name for it is ${code}.`,
  impact: () => 'What the part does may fail, or has been taken over by others.',
  response: () => 'The system has taken the part out of use where it could do without it.',
  action: ({ advice, faultId }) =>
    `${advice === '' ? 'Replace the part' : sentences(advice).slice(0, -1)}. When it was repaired, tell the system so: fmadm repaired, or fmadm acquit ${faultId}.`,
  page: () => '/maintenance',
  labels: ({ code }) => ({ code }),
  dedupKey: ({ faultId }) => `hardware.faulty/${faultId}`,
  dedupExample: 'hardware.faulty/3a4d3c3e-7a11-4c55-8a08-b6f34d53f1c2',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
});

export interface StartedArgs {
  readonly hostName: string;
  readonly version: string;
  readonly bootId: string;
}

export const applianceStarted = declare<StartedArgs>({
  class: 'appliance.started',
  severity: () => 'info',
  title: ({ hostName }) => `${hostName} has started`,
  text: ({ hostName, version }) => `The appliance ${hostName} has started, with version ${version}.`,
  impact: () => 'While it was down no measurement was taken in.',
  response: () => 'All services are started by themselves.',
  action: () => 'Nothing, if the start was expected. Otherwise look at the log for what came before it.',
  page: () => '/status',
  labels: ({ hostName }) => ({ host: hostName }),
  dedupKey: ({ bootId }) => `appliance.started/${bootId}`,
  dedupExample: 'appliance.started/5f1c9a52-77c5-4d6e-9d0d-2f6f7b2b8f11',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
  happening: true,
});

export interface DeliveryArgs {
  readonly destinationId: string;
  readonly destinationName: string;
  readonly error: string;
  readonly waiting: number;
  /** Network links that are down. */
  readonly linksDown: readonly string[];
  /** No other is up: nothing can be delivered, to anybody. */
  readonly cutOff: boolean;
}

const linkKeys = (links: readonly string[]) => links.map((link) => `link.down/${link}`);

export const deliveryFailing = declare<DeliveryArgs>({
  class: 'delivery.failing',
  severity: () => 'warning',
  title: ({ destinationName }) => `Alerts cannot be delivered to “${destinationName}”`,
  text: ({ destinationName, error, waiting, linksDown }) =>
    `“${destinationName}” does not take alerts: ${error}. ${waiting} ${waiting === 1 ? 'is' : 'are'} waiting.${linksDown.length === 0 ? '' : ` The network ${linksDown.length === 1 ? 'link' : 'links'} ${enumerate(linksDown)} ${linksDown.length === 1 ? 'is' : 'are'} down, which may be why.`}`,
  impact: () => 'Whoever relies on this destination is not told of trouble.',
  response: () => 'Delivery is tried again and again, at most five minutes apart; what waits is delivered in order.',
  action: () => 'Check the destination with its test button.',
  page: ({ destinationId }) => `/alerts/destinations/${destinationId}`,
  labels: ({ destinationName }) => ({ destination: destinationName }),
  dedupKey: ({ destinationId }) => `delivery.failing/${destinationId}`,
  dedupExample: 'delivery.failing/dst-0mi5x3k9f-3f9c2b7a10',
  dependsOn: ({ linksDown, cutOff }) => (cutOff ? linkKeys(linksDown) : []),
  // The first retries take a few seconds: a mail server that is being restarted is no alert.
  visibleAfterSeconds: 60,
});

export interface RefusedArgs {
  readonly destinationId: string;
  readonly destinationName: string;
  readonly eventId: string;
  /** Of the alert that was to be told. */
  readonly title: string;
  readonly error: string;
}

export const deliveryRefused = declare<RefusedArgs>({
  class: 'delivery.refused',
  severity: () => 'warning',
  title: ({ destinationName }) => `“${destinationName}” refused a message`,
  text: ({ destinationName, title, error }) =>
    `“${destinationName}” was not told of “${title}”: it refused that message again and again, and took one that came after it. ${sentences(error)}`,
  impact: () => 'Whoever relies on this destination does not know of what the message told.',
  response: () => 'That message is not sent there again; those after it are. The log has all it said.',
  action: () => 'Read the alert in the log, and see in the receiver’s own log why it was refused.',
  page: () => '/alerts/log',
  labels: ({ destinationName }) => ({ destination: destinationName }),
  dedupKey: ({ destinationId, eventId }) => `delivery.refused/${destinationId}/${eventId}`,
  dedupExample: 'delivery.refused/dst-0mi5x3k9f-3f9c2b7a10/ev-0mi5x3k9f-3f9c2b7a10',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
  happening: true,
});

export interface StoreDamageArgs {
  readonly block: string;
  readonly setAside: boolean;
  /** The times it covers, in words; null when that is unreadable too. */
  readonly span: string | null;
  readonly detail: string;
}

export const storeDamaged = declare<StoreDamageArgs>({
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
  dedupExample: 'store.damaged/00000000000000a7',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
});

export const journalDamaged = declare<Pick<StoreDamageArgs, 'detail'>>({
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

export const storeRefusing = declare<RefusingArgs>({
  class: 'store.refusing',
  severity: () => 'critical',
  title: () => 'The telemetry store refuses measurements',
  text: ({ since, detail }) => `Since ${since} measurements are refused: ${sentences(detail)}`,
  impact: () =>
    'What is refused is lost unless its sender keeps it and sends it again: Prometheus and OpenTelemetry do, statsd and Graphite do not.',
  response: () =>
    'Senders are told so where their protocol has an answer. What is stored can be read; measurements are taken again as soon as that is possible.',
  action: ({ because }) =>
    because === 'storage_error'
      ? 'Make room: raise the quota of the telemetry dataset, destroy snapshots of it, add disks to its pool, or keep measurements for less long. If there is room, look at the disks of the pool.'
      : because === 'memory_limit'
        ? 'See whether the pool of the telemetry is full or slow: what is in memory cannot be written. Otherwise give the store more memory, or send fewer series.'
        : 'Find out who sends a new series with each measurement, as a label that holds a time or an identifier does, and send it without that label.',
  page: () => '/analytics/worksheets/store',
  labels: () => ({ service: 'storaged' }),
  dedupKey: () => 'store.refusing/storaged',
  dedupExample: 'store.refusing/storaged',
  dependsOn: ({ pool }) => (pool === null ? [] : [`pool.faulted/${pool}`, `pool.suspended/${pool}`]),
  visibleAfterSeconds: 10,
});

export interface DropArgs {
  /** As `statsd`. */
  readonly input: string;
  readonly dropped: number;
}

export const datagramsDropped = declare<DropArgs>({
  class: 'datagrams.dropped',
  severity: () => 'warning',
  title: ({ input }) => `Datagrams of ${input} are dropped`,
  text: ({ input, dropped }) =>
    `${plural(dropped, 'datagram')} of ${input} ${dropped === 1 ? 'was' : 'were'} dropped: they came faster than they could be taken in.`,
  impact: () => 'Measurements are missing: counters are too low, and gauges may be old. Nobody who sent them knows.',
  response: ({ input }) =>
    `The kernel holds what its buffer has room for, and each drop is counted: cistern_storaged_${input}_kernel_drops_total.`,
  action: () =>
    'See whether the processors of the appliance are busy. Otherwise have the clients put more metrics into each datagram, send less often, or use TCP, which waits instead.',
  page: () => '/analytics/worksheets/store',
  labels: ({ input }) => ({ input }),
  dedupKey: ({ input }) => `datagrams.dropped/${input}`,
  dedupExample: 'datagrams.dropped/statsd',
  dependsOn: () => ['service.failed/storaged', 'service.restarting/storaged'],
  visibleAfterSeconds: 0,
});

export interface StatisticStoppedArgs {
  /** The dataset's canonical name. */
  readonly statistic: string;
  /** Tracing took too much of the processor; otherwise it failed. */
  readonly overBudget: boolean;
  /** A sentence. */
  readonly why: string;
}

export const statisticStopped = declare<StatisticStoppedArgs>({
  class: 'statistic.stopped',
  severity: () => 'warning',
  title: ({ statistic, overBudget }) =>
    overBudget ? `The statistic ${statistic} was suspended` : `The statistic ${statistic} cannot be measured`,
  text: ({ why }) => why,
  impact: () => 'Its charts have a gap from then on; thresholds over it see no data.',
  response: ({ overBudget }) =>
    overBudget
      ? 'It stays suspended, so that measuring does not slow down what is measured. The other statistics go on.'
      : 'It is tried again by itself, later each time.',
  action: ({ overBudget }) =>
    overBudget
      ? 'Filter it or break it down less, then resume it on the page Recorded datasets; or destroy it.'
      : 'The page Recorded datasets has the reason. Stop recording it if this machine cannot measure it.',
  page: () => '/analytics/datasets',
  labels: ({ statistic }) => ({ statistic }),
  dedupKey: ({ statistic }) => `statistic.stopped/${statistic}`,
  dedupExample: 'statistic.stopped/io.ops[process]',
  dependsOn: () => [],
  // A program that is started again takes its time.
  visibleAfterSeconds: 30,
});

export interface FailedSnapshotsArgs {
  readonly id: string;
  readonly dataset: string;
  /** What went wrong, as a sentence. */
  readonly failure: string;
}

const datasetPage = ({ dataset }: { dataset: string }) => `/storage/datasets/${encodeURIComponent(dataset)}`;

export const snapshotsFailed = declare<FailedSnapshotsArgs>({
  class: 'snapshots.failed',
  severity: () => 'warning',
  title: ({ dataset }) => `The scheduled snapshots of “${dataset}” fail`,
  text: ({ dataset, failure }) =>
    `The last scheduled snapshot of “${dataset}” was not taken as it should be. ${failure}`,
  impact: () => 'What is changed or deleted from now on may not be in any snapshot.',
  response: () => 'It is tried again at its next time. Snapshots that were taken before are kept.',
  action: () => 'See what went wrong, and take a snapshot by hand. A schedule whose dataset is gone can be deleted.',
  page: () => '/storage/schedules',
  labels: ({ dataset }) => ({ dataset }),
  dedupKey: ({ id }) => `snapshots.failed/${id}`,
  dedupExample: 'snapshots.failed/ss-0mi5x3k9f-3f9c2b7a10',
  dependsOn: ({ dataset }) => poolKeysOf(dataset),
  visibleAfterSeconds: 0,
});

const poolKeysOf = (dataset: string) => {
  const [name] = dataset.split('/');
  return [`pool.faulted/${name}`, `pool.suspended/${name}`];
};

export interface FailedReplicationArgs {
  readonly id: string;
  readonly dataset: string;
  /** In words. */
  readonly target: string;
  readonly failure: string;
  readonly action: string;
}

export const replicationFailed = declare<FailedReplicationArgs>({
  class: 'replication.failed',
  severity: () => 'warning',
  title: ({ dataset }) => `The replication of “${dataset}” fails`,
  text: ({ dataset, target, failure }) => `“${dataset}” was not replicated to ${target}. ${failure}`,
  impact: () => 'The target falls behind. What it has is complete up to the last replication that succeeded.',
  response: () => 'It is tried again. Nothing at the target is destroyed or overwritten to make it fit.',
  action: ({ action }) => action || 'See what went wrong, and replicate by hand once it is mended.',
  page: () => '/storage/replication',
  labels: ({ dataset }) => ({ dataset }),
  dedupKey: ({ id }) => `replication.failed/${id}`,
  dedupExample: 'replication.failed/ss-0mi5x3k9f-3f9c2b7a10',
  dependsOn: ({ dataset }) => poolKeysOf(dataset),
  visibleAfterSeconds: 0,
});

export interface LateReplicationArgs {
  readonly id: string;
  readonly dataset: string;
  readonly target: string;
  readonly lagSeconds: number;
}

export const replicationLate = declare<LateReplicationArgs>({
  class: 'replication.late',
  severity: () => 'warning',
  title: ({ dataset }) => `The replication of “${dataset}” is behind`,
  text: ({ dataset, target, lagSeconds }) =>
    `What ${target} has of “${dataset}” is ${duration(lagSeconds)} old, which is more than was asked for.`,
  impact: ({ lagSeconds }) => `If this side is lost now, the last ${duration(lagSeconds)} are lost with it.`,
  response: () => 'It goes on by its schedule, from the newest snapshot that both sides have.',
  action: () => 'See whether it runs, what it says, and whether the line is fast enough for what is written.',
  page: () => '/storage/replication',
  labels: ({ dataset }) => ({ dataset }),
  dedupKey: ({ id }) => `replication.late/${id}`,
  dedupExample: 'replication.late/ss-0mi5x3k9f-3f9c2b7a10',
  dependsOn: ({ id }) => [`replication.failed/${id}`],
  visibleAfterSeconds: 0,
});

export interface FullDatasetArgs {
  readonly dataset: string;
  readonly used: number;
  /** The quota. */
  readonly bytes: number;
}

export const datasetFull = declare<FullDatasetArgs>({
  class: 'dataset.full',
  severity: () => 'warning',
  title: ({ dataset }) => `The quota of “${dataset}” is nearly reached`,
  text: ({ dataset, used, bytes }) =>
    `“${dataset}” has used ${size(used)} of its quota of ${size(bytes)} (${percent(used / bytes)}).`,
  impact: () => 'When the quota is reached, writing to it fails.',
  response: () => 'The appliance goes on writing until the quota is reached.',
  action: () => 'Raise the quota, or destroy snapshots and data that are not needed.',
  page: datasetPage,
  labels: ({ dataset }) => ({ dataset }),
  dedupKey: ({ dataset }) => `dataset.full/${dataset}`,
  dedupExample: 'dataset.full/tank/home',
  dependsOn: ({ dataset }) => poolKeysOf(dataset),
  visibleAfterSeconds: 0,
});

export interface LockedDatasetArgs {
  readonly dataset: string;
}

export const datasetLocked = declare<LockedDatasetArgs>({
  class: 'dataset.locked',
  severity: () => 'warning',
  title: ({ dataset }) => `The key of “${dataset}” is not loaded`,
  text: ({ dataset }) => `“${dataset}” is encrypted, and its key is not loaded.`,
  impact: () => 'Nothing of it can be read or written until the key is loaded.',
  response: () => 'Keys in files are loaded when the appliance starts; a passphrase has to be given by somebody.',
  action: () => 'Load the key on the page of the dataset.',
  page: datasetPage,
  labels: ({ dataset }) => ({ dataset }),
  dedupKey: ({ dataset }) => `dataset.locked/${dataset}`,
  dedupExample: 'dataset.locked/tank/home',
  dependsOn: ({ dataset }) => poolKeysOf(dataset),
  visibleAfterSeconds: 0,
});

export interface ScrubArgs {
  readonly pool: string;
  readonly scan: 'scrub' | 'resilver';
  readonly startedAt: string;
  readonly repairedBytes: number;
  readonly errors: number;
  /** Disks with checksum errors, with their number. */
  readonly disks: readonly string[];
}

export const scrubFound = declare<ScrubArgs>({
  class: 'scrub.found',
  severity: ({ errors }) => (errors > 0 ? 'critical' : 'warning'),
  severities: ['critical', 'warning'],
  title: ({ pool: name, errors, scan }) =>
    errors > 0
      ? `The ${scan} of pool “${name}” found what it could not repair`
      : `The ${scan} of pool “${name}” repaired data`,
  text: ({ pool: name, repairedBytes, errors, disks, scan }) =>
    `The ${scan} of “${name}” ${errors > 0 ? `found ${plural(errors, 'error')} it could not repair` : `repaired ${size(repairedBytes)}`}.${disks.length === 0 ? '' : ` Checksum errors were on ${enumerate(disks)}.`}`,
  impact: ({ errors }) =>
    errors > 0
      ? 'What is damaged cannot be read any more; the page of the pool names the files.'
      : 'No data is lost: what was wrong on one disk was right on another.',
  response: () => 'What had a sound copy was written anew from it.',
  action: ({ errors }) =>
    errors > 0
      ? 'Restore the named files from a snapshot, a replica or a backup, and scrub again.'
      : 'Once may be an accident. If the same disk has errors again, replace it.',
  page: ({ pool: name }) => `/storage/pools/${encodeURIComponent(name)}`,
  labels: ({ pool: name }) => ({ pool: name }),
  dedupKey: ({ pool: name, startedAt }) => `scrub.found/${name}/${startedAt}`,
  dedupExample: 'scrub.found/tank/2026-01-01T02:00:00.000Z',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
  happening: true,
});

export interface ResilverArgs {
  readonly pool: string;
  readonly startedAt: string;
  /** What was written to the disks that lacked it. */
  readonly repairedBytes: number;
  readonly errors: number;
  /** Nothing is missing from the pool any more. */
  readonly whole: boolean;
}

export const resilverFinished = declare<ResilverArgs>({
  class: 'resilver.finished',
  severity: () => 'info',
  title: ({ pool: name }) => `The resilver of pool “${name}” has ended`,
  text: ({ pool: name, repairedBytes, errors }) =>
    `The resilver of “${name}” has ended: ${size(repairedBytes)} were written to disks that lacked them, ${errors > 0 ? `with ${plural(errors, 'error')} that could not be repaired` : 'without errors'}.`,
  impact: ({ whole }) =>
    whole
      ? 'The pool has as many copies of its data as it is meant to have.'
      : 'The pool is still not as it is meant to be: another disk is missing, or a spare stands in.',
  response: () => 'The pool goes on as before, with the new disk.',
  action: ({ whole, errors }) =>
    whole && errors === 0 ? 'Nothing needs to be done.' : 'See the page of the pool for what is missing or damaged.',
  page: ({ pool: name }) => `/storage/pools/${encodeURIComponent(name)}`,
  labels: ({ pool: name }) => ({ pool: name }),
  dedupKey: ({ pool: name, startedAt }) => `resilver.finished/${name}/${startedAt}`,
  dedupExample: 'resilver.finished/tank/2026-01-01T02:00:00.000Z',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
  happening: true,
});

export interface SpareArgs {
  readonly pool: string;
  /** The spare. */
  readonly device: string;
  readonly words: string;
  /** What it stands in for, as people find it. */
  readonly failed: string;
}

export const spareUsed = declare<SpareArgs>({
  class: 'spare.used',
  severity: () => 'warning',
  title: ({ pool: name }) => `A spare stands in for a disk of pool “${name}”`,
  text: ({ pool: name, words, failed }) => `The spare ${words} of “${name}” stands in for ${failed}.`,
  impact: () => 'When it has been resilvered, no copy of the data is missing; but the pool has one spare less.',
  response: () => 'The spare takes over what the disk held.',
  action: () =>
    'Replace the disk that is named: the spare is then free again. Or detach that disk, and the spare stays in its place.',
  page: ({ pool: name }) => `/storage/pools/${encodeURIComponent(name)}`,
  labels: ({ pool: name, device }) => ({ pool: name, disk: device }),
  dedupKey: ({ pool: name, device }) => `spare.used/${name}/${device}`,
  dedupExample: 'spare.used/tank/scsi-A',
  dependsOn: ({ pool: name }) => [`pool.faulted/${name}`, `pool.suspended/${name}`],
  visibleAfterSeconds: 0,
});

export interface DamagedPoolArgs {
  readonly pool: string;
  readonly count: number;
  /** The first of them, by name. */
  readonly files: readonly string[];
}

export const poolDamaged = declare<DamagedPoolArgs>({
  class: 'pool.damaged',
  severity: () => 'critical',
  title: ({ pool: name }) => `Data on pool “${name}” is damaged beyond repair`,
  text: ({ pool: name, count, files }) =>
    `${plural(count, 'file')} on “${name}” cannot be read any more${files.length === 0 ? '' : `: ${files.join(', ')}${count > files.length ? ' and more' : ''}`}.`,
  impact: () => 'Reading what is damaged fails. Everything else is there.',
  response: () => 'ZFS never gives out wrong data for it: reading it is an error.',
  action: () =>
    'Restore the files from a snapshot, a replica or a backup, then scrub the pool; this clears when they are mended.',
  page: ({ pool: name }) => `/storage/pools/${encodeURIComponent(name)}`,
  labels: ({ pool: name }) => ({ pool: name }),
  dedupKey: ({ pool: name }) => `pool.damaged/${name}`,
  dedupExample: 'pool.damaged/tank',
  dependsOn: ({ pool: name }) => [`pool.faulted/${name}`, `pool.suspended/${name}`],
  visibleAfterSeconds: 0,
});

export interface FullPoolArgs {
  readonly pool: string;
  readonly capacity: number;
  readonly free: number;
}

export const poolFull = declare<FullPoolArgs>({
  class: 'pool.full',
  severity: ({ capacity }) => (capacity >= 0.9 ? 'critical' : 'warning'),
  severities: ['critical', 'warning'],
  title: ({ pool: name, capacity }) => `Pool “${name}” is ${percent(capacity)} full`,
  text: ({ pool: name, capacity, free }) => `“${name}” is ${percent(capacity)} full; ${size(free)} are free.`,
  impact: () => 'A pool that is nearly full becomes slow, and one that is full takes nothing any more.',
  response: () => 'The appliance goes on writing as long as there is room.',
  action: () => 'Add disks, destroy snapshots that are not needed, or keep measurements for a shorter time.',
  page: ({ pool: name }) => `/storage/pools/${encodeURIComponent(name)}`,
  labels: ({ pool: name }) => ({ pool: name }),
  dedupKey: ({ pool: name, capacity }) => `pool.full/${name}/${capacity >= 0.9 ? 90 : 80}`,
  dedupExample: 'pool.full/tank/80',
  dependsOn: () => [],
  // A snapshot that is destroyed a moment later is no alert.
  visibleAfterSeconds: 60,
});

export interface FillingPoolArgs {
  readonly pool: string;
  readonly percent: number;
  /** Until it is full, at the pace of the last day. */
  readonly days: number;
}

const inDays = (days: number) => (days < 1 ? 'within a day' : `in ${plural(Math.floor(days), 'day')}`);

export const poolFilling = declare<FillingPoolArgs>({
  class: 'pool.filling',
  severity: ({ days }) => (days < 3 ? 'critical' : 'warning'),
  severities: ['critical', 'warning'],
  title: ({ pool: name, days }) => `Pool “${name}” will be full ${inDays(days)}`,
  text: ({ pool: name, percent: used, days }) =>
    `“${name}” is ${percent(used / 100)} full, and at the pace of the last day it is full ${inDays(days)}.`,
  impact: () => 'A pool that is nearly full becomes slow, and one that is full takes nothing any more.',
  response: () => 'The appliance goes on writing as long as there is room, and looks again each hour.',
  action: () =>
    'Find out what grew. Add disks, destroy snapshots that are not needed, or keep measurements for a shorter time.',
  page: ({ pool: name }) => `/storage/pools/${encodeURIComponent(name)}`,
  labels: ({ pool: name }) => ({ pool: name }),
  dedupKey: ({ pool: name, days }) => `pool.filling/${name}/${days < 3 ? 3 : 14}`,
  dedupExample: 'pool.filling/tank/14',
  dependsOn: ({ pool: name }) => [`pool.full/${name}/80`, `pool.full/${name}/90`],
  visibleAfterSeconds: 0,
});

export interface ExpiringCertificateArgs {
  /** Whom it names. */
  readonly names: string;
  /** ms */
  readonly validTo: number;
  /** Until then; below 0 when it has ended. */
  readonly days: number;
}

export const certificateExpiring = declare<ExpiringCertificateArgs>({
  class: 'certificate.expiring',
  severity: ({ days }) => (days < 7 ? 'critical' : 'warning'),
  severities: ['critical', 'warning'],
  title: ({ days }) =>
    days < 0
      ? 'The certificate of the web page has expired'
      : `The certificate of the web page expires ${inDays(days)}`,
  text: ({ names, validTo, days }) =>
    `The certificate for ${names || 'this appliance'} ${days < 0 ? 'was' : 'is'} valid until ${new Date(validTo).toISOString().slice(0, 10)}.`,
  impact: () =>
    'Browsers warn of a certificate that has expired, and whatever sends metrics may refuse to go on sending.',
  response: () => 'The appliance goes on answering with it.',
  action: () => 'Install a new certificate; senders that trust this one by itself need the new one too.',
  page: () => '/maintenance',
  labels: () => ({}),
  dedupKey: ({ days }) => `certificate.expiring/${days < 0 ? 0 : days < 7 ? 7 : 30}`,
  dedupExample: 'certificate.expiring/30',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
});

export interface LockedOutArgs {
  /** The account that was guessed at. */
  readonly account: string;
  readonly address: string;
  readonly attempts: number;
  readonly at: string;
}

export const signInLocked = declare<LockedOutArgs>({
  class: 'signin.locked',
  severity: () => 'warning',
  title: ({ address }) => `Too many wrong passwords from ${address}`,
  text: ({ account, address, attempts }) =>
    `${attempts} wrong passwords for “${account}” came from ${address}, one after the other.`,
  impact: () => 'Somebody has forgotten a password, or somebody guesses.',
  response: () => 'That address is not listened to for a quarter of an hour, for this account.',
  action: () => 'If nobody you know was it, find out who has that address, and keep it away from the page.',
  page: () => '/alerts/log',
  labels: ({ account, address }) => ({ account, address }),
  dedupKey: ({ account, address, at }) => `signin.locked/${account}/${address}/${at}`,
  dedupExample: 'signin.locked/admin/192.0.2.7/2026-01-01T02:00:00.000Z',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
  happening: true,
});

export interface DiskArgs {
  readonly pool: string;
  /** As ZFS names it. */
  readonly device: string;
  /** Serial number, model and place, as far as they are known. */
  readonly words: string;
  readonly errors: string;
}

export const diskFaulted = declare<DiskArgs>({
  class: 'disk.faulted',
  severity: () => 'critical',
  title: ({ pool: name, words }) => `Disk ${words} of pool “${name}” has failed`,
  text: ({ pool: name, words, errors }) =>
    `ZFS has taken the disk ${words} of “${name}” out of use because of too many errors (${errors}).`,
  impact: () => 'No data is lost, but it has fewer copies than intended: another failure may lose some.',
  response: () => 'The pool goes on with the remaining disks, and with a spare if it has one.',
  action: () => 'Replace the disk: the page leads through it.',
  page: ({ pool: name, device }) =>
    `/storage/pools/${encodeURIComponent(name)}/replace?device=${encodeURIComponent(device)}`,
  labels: ({ pool: name, device }) => ({ pool: name, disk: device }),
  dedupKey: ({ pool: name, device }) => `disk.faulted/${name}/${device}`,
  dedupExample: 'disk.faulted/tank/scsi-A',
  dependsOn: ({ pool: name }) => [`pool.faulted/${name}`, `pool.suspended/${name}`],
  visibleAfterSeconds: 0,
});

export interface AilingDiskArgs {
  readonly device: string;
  readonly words: string;
  /** As a sentence. */
  readonly complaint: string;
}

export const diskAiling = declare<AilingDiskArgs>({
  class: 'disk.ailing',
  severity: () => 'warning',
  title: ({ words }) => `Disk ${words} is not well`,
  text: ({ words, complaint }) => `Disk ${words}: ${complaint}`,
  impact: () => 'It works now. When it fails, its data has one copy less.',
  response: () => 'The disk goes on being used.',
  action: () => 'Replace it at the next occasion.',
  page: ({ device }) => `/storage/disks/${encodeURIComponent(device)}`,
  labels: ({ device }) => ({ disk: device }),
  dedupKey: ({ device }) => `disk.ailing/${device}`,
  dedupExample: 'disk.ailing/scsi-A',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
});

export interface CrashedArgs {
  /** What supportd knows the crash by from the moment it happened. */
  readonly id: string;
  readonly service: string;
  readonly title: string;
  readonly process: string;
  readonly signal: string | undefined;
  readonly reason: string | undefined;
  readonly count: number;
  /** Its core is being taken: where it stood is not known yet. */
  readonly recording: boolean;
}

export const processCrashed = declare<CrashedArgs>({
  class: 'process.crashed',
  severity: () => 'warning',
  title: ({ title, process }) => `${title} (${process}) has crashed`,
  text: ({ title, process, signal, reason, count, recording }) =>
    recording
      ? `${title} (${process}) was ended by a signal a moment ago. Where it stood is being recorded.`
      : `${title} (${process}) ended ${signal ? `by ${signal}` : 'by an error that nothing handled'}${count > 1 ? `, ${count} times so far` : ''}.${reason ? ` It said: “${reason}”.` : ''}`,
  impact: ({ service }) => serviceFact(service)?.impact ?? 'What it does was not done until it was started again.',
  response: () => 'It is started again by itself. What it was doing, and where it stood, is kept as a crash record.',
  action: () =>
    'Make a support bundle and send it in. Dismiss the crash on the page Maintenance; this alert then ends.',
  page: () => '/maintenance/crashes',
  labels: ({ service, process }) => ({ service, process }),
  dedupKey: ({ id }) => `process.crashed/${id}`,
  dedupExample: 'process.crashed/ss-0mi5x3k9f-3f9c2b7a10',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
});

export interface UnsynchronisedArgs {
  /** As a sentence. */
  readonly why: string;
  /** When no network link is up: those that went down. */
  readonly cut: readonly string[];
}

export const timeUnsynchronised = declare<UnsynchronisedArgs>({
  class: 'time.unsynchronised',
  severity: () => 'warning',
  title: () => 'The clock is not synchronised',
  text: ({ why }) => `The clock of the appliance is not synchronised. ${why}`,
  impact: () =>
    'It drifts, by a few seconds a day at worst. Measurements, logs and alerts then carry times that do not fit those of other machines, and one-time passwords and certificates may be refused.',
  response: () => 'The appliance goes on with its own clock, and goes on asking for the time.',
  action: () =>
    'See that it reaches a time server (UDP port 123): one that the network names by DHCP (option 42), or one on the internet. If it is meant to have none, mute this class.',
  page: () => '/maintenance/machine',
  labels: () => ({}),
  dedupKey: () => 'time.unsynchronised/clock',
  dedupExample: 'time.unsynchronised/clock',
  dependsOn: ({ cut }) => linkKeys(cut),
  // An hour: the quartz of a cheap board is then 0.2 s off at most, and a start or a server's outage is mostly over.
  visibleAfterSeconds: 3600,
});

export interface SteppedArgs {
  /** Above 0: to a later time. */
  readonly seconds: number;
  readonly at: string;
}

export const clockStepped = declare<SteppedArgs>({
  class: 'clock.stepped',
  severity: () => 'info',
  title: ({ seconds }) => `The clock was set ${seconds > 0 ? 'forward' : 'back'} by ${duration(Math.abs(seconds))}`,
  text: ({ seconds, at }) =>
    `The clock of the appliance was set ${seconds > 0 ? 'forward' : 'back'} by ${duration(Math.abs(seconds))}, to ${at}.`,
  impact: ({ seconds }) =>
    seconds > 0
      ? 'Charts have a gap that long which is none: no time has passed in it.'
      : 'What was measured in that time is stored twice for the same moments, or refused as too late.',
  response: () => 'Everything goes on by the new time. What waits for some time to pass does not count the step.',
  action: () =>
    'Nothing, if the appliance was just started or somebody has set its clock. Otherwise see to its time server, or to the battery of its board; a virtual machine that was halted shows this too.',
  page: () => '/maintenance/machine',
  labels: () => ({}),
  dedupKey: ({ at }) => `clock.stepped/${at}`,
  dedupExample: 'clock.stepped/2026-01-01T02:00:00.000Z',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
  happening: true,
});

export interface LinkArgs {
  readonly link: string;
  /** The system does not find it any more. */
  readonly gone: boolean;
  /** The bond that it belongs to. */
  readonly member: string | null;
}

export const linkDown = declare<LinkArgs>({
  class: 'link.down',
  severity: () => 'warning',
  title: ({ link, gone }) => `The network link ${link} is ${gone ? 'gone' : 'down'}`,
  text: ({ link, gone, member }) =>
    `The network link ${link} ${gone ? 'is not there any more' : 'has lost its carrier'}${member === null ? '' : `; it belongs to ${member}`}.`,
  impact: ({ member }) =>
    member === null
      ? 'Whoever reaches the appliance over it does not: metrics that are sent over it are lost, and alerts may not be delivered.'
      : 'What is bonded goes on with the other ports; it is slower, and has one spare less.',
  response: () =>
    'The appliance goes on with its other links. What waits to be delivered is delivered when it is back.',
  action: ({ gone }) =>
    gone
      ? 'Look whether the network adapter is still in its place. If it was taken out for good, have the appliance forget it.'
      : 'Check the cable, and the port of the switch at its other end. If nothing is to be there, have the appliance forget it.',
  page: () => '/maintenance/machine',
  labels: ({ link }) => ({ link }),
  dedupKey: ({ link }) => `link.down/${link}`,
  dedupExample: 'link.down/eno1',
  dependsOn: ({ member }) => (member === null ? [] : linkKeys([member])),
  // A switch that is restarted, or a port that finds its speed.
  visibleAfterSeconds: 10,
});

export interface HotArgs {
  readonly sensor: string;
  /** As people find it. */
  readonly where: string;
  /** °C, as the limit that it is beyond. */
  readonly celsius: number;
  readonly highest: number;
  readonly level: 'warning' | 'critical';
  /** The disk whose temperature it is. */
  readonly disk: string | null;
}

const degrees = (celsius: number) => `${Math.round(celsius)} °C`;

export const temperatureHigh = declare<HotArgs>({
  class: 'temperature.high',
  severity: ({ level }) => level,
  severities: ['critical', 'warning'],
  title: ({ where, celsius }) => `${where} is ${degrees(celsius)} hot`,
  text: ({ where, celsius, highest, level }) =>
    `${where} is ${degrees(celsius)} hot; it is ${level === 'critical' ? 'critical' : 'too hot'} from ${degrees(highest)} on.`,
  impact: ({ level, disk }) =>
    level === 'critical'
      ? 'The hardware slows itself down, may switch itself off at any moment, and may be damaged.'
      : disk === null
        ? 'The hardware ages faster and may slow itself down.'
        : 'The disk ages faster, and may fail or slow itself down.',
  response: () => 'The appliance goes on working. This clears when it is some degrees cooler.',
  action: () =>
    'Check fans, filters and the temperature of the room, and whether something stands before the air inlet.',
  page: ({ disk }) => (disk === null ? '/maintenance/machine' : `/storage/disks/${encodeURIComponent(disk)}`),
  labels: ({ sensor }) => ({ sensor }),
  dedupKey: ({ sensor, level }) => `temperature.high/${sensor}/${level}`,
  dedupExample: 'temperature.high/coretemp/temp1/warning',
  dependsOn: () => [],
  // A processor that is busy for a moment is hot for a moment.
  visibleAfterSeconds: 60,
});

export interface ChangedArgs {
  /** The numbers of the first and the last entry of the audit log that it tells of. */
  readonly from: number;
  readonly to: number;
  readonly count: number;
  readonly users: readonly string[];
  /** What was done, each in words; the first of them. */
  readonly what: readonly string[];
}

export const configurationChanged = declare<ChangedArgs>({
  class: 'configuration.changed',
  severity: () => 'info',
  title: ({ count, users, what }) =>
    count === 1
      ? `${users[0]} ${what[0]}`
      : `${enumerate(users)} changed the configuration (${plural(count, 'change')})`,
  text: ({ count, what, users }) =>
    `${enumerate(users)}: ${what.join('; ')}${count > what.length ? `; and ${count - what.length} more` : ''}.`,
  impact: () => 'The appliance works as it was told.',
  response: () => 'Each change is in the audit log, with who made it, from where, and what was there before.',
  action: () => 'Nothing, if you know of it. Otherwise ask whoever is named.',
  page: () => '/alerts/log',
  labels: ({ users }) => ({ user: users.join(', ') }),
  dedupKey: ({ from, to }) => `configuration.changed/${from}-${to}`,
  dedupExample: 'configuration.changed/17-19',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
  happening: true,
  // Whoever made the change knows of it; those who want to watch have it sent.
  muted: true,
});

export interface UpdatedArgs {
  readonly hostName: string;
  readonly before: string;
  readonly version: string;
  readonly bootId: string;
}

export const applianceUpdated = declare<UpdatedArgs>({
  class: 'appliance.updated',
  severity: () => 'info',
  title: ({ hostName, version }) => `${hostName} runs version ${version}`,
  text: ({ hostName, before, version }) =>
    `The appliance ${hostName} has started with version ${version}; before it was ${before}.`,
  impact: () => 'Settings, measurements and the alert log are as they were.',
  response: () => 'What the new version keeps in another form was taken over at the start.',
  action: () => 'Nothing, if the update was expected. Otherwise find out who changed what the appliance starts from.',
  page: () => '/maintenance',
  labels: ({ hostName }) => ({ host: hostName }),
  dedupKey: ({ before, version, bootId }) => `appliance.updated/${before}/${version}/${bootId}`,
  dedupExample: 'appliance.updated/0.9/1/5f1c9a52-77c5-4d6e-9d0d-2f6f7b2b8f11',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
  happening: true,
});

/** All of them, for the test that holds each against its promises and for the pages that list them. */
export const catalogue = [
  thresholdExceeded,
  thresholdNoData,
  thresholdFailing,
  poolDegraded,
  poolFaulted,
  poolSuspended,
  serviceFailed,
  serviceRestarting,
  hardwareFaulty,
  applianceStarted,
  deliveryFailing,
  deliveryRefused,
  storeDamaged,
  journalDamaged,
  storeRefusing,
  datagramsDropped,
  statisticStopped,
  scrubFound,
  resilverFinished,
  spareUsed,
  poolDamaged,
  poolFull,
  diskFaulted,
  diskAiling,
  snapshotsFailed,
  replicationFailed,
  replicationLate,
  datasetFull,
  datasetLocked,
  processCrashed,
  poolFilling,
  certificateExpiring,
  signInLocked,
  timeUnsynchronised,
  clockStepped,
  linkDown,
  temperatureHigh,
  configurationChanged,
  applianceUpdated,
] as const;
