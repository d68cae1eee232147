// What is true of the appliance now, as objects of CISTERN-MIB. A part that cannot be asked, or whose last answer is too old
// to vouch for, is left out as a whole: no answer rather than a wrong one.
import type { Alerts } from '../../alerting/alerts/index.ts';
import type { Clock } from '../../base/clock.ts';
import { figure } from '../../base/words.ts';
import type { Storaged } from '../../peers/storaged.ts';
import type { Vdev } from '../../platform/pool.ts';
import type { Tree } from '../../storage/datasets/index.ts';
import type { Inventory } from '../../storage/inventory/index.ts';
import type { Services } from '../services/index.ts';
import type { Status } from '../status/index.ts';
import { mebibytes, rowLines, scalarLines, type Table, type Values } from './objects.ts';

/** What was read longer ago than this is not answered any more. */
export const OLDEST_S = 60;
const MAX_ALERTS = 1_000;
const MAX_DATASETS = 10_000;

const conditions = { ok: 1, info: 2, warning: 3, critical: 4 } as const;
const poolStates = { ONLINE: 1, DEGRADED: 2, FAULTED: 3, SUSPENDED: 4, UNAVAIL: 5, OFFLINE: 6, REMOVED: 7 } as const;
const scans = { none: 1, scrub: 2, resilver: 3 } as const;
const diskStates = { available: 1, in_pool: 2, system: 3, in_use: 4, too_small: 5 } as const;
const kinds = { filesystem: 1, volume: 2 } as const;
const serviceStates = { online: 1, starting: 2, stopped: 3, failed: 4, maintenance: 5 } as const;
const severities = { info: 1, warning: 2, critical: 3 } as const;

export interface CollectParts {
  readonly clock: Clock;
  readonly status: Pick<Status, 'read'>;
  readonly inventory: Pick<Inventory, 'pools' | 'disks'>;
  readonly tree: Pick<Tree, 'get'>;
  readonly services: Pick<Services, 'read'>;
  readonly alerts: Pick<Alerts, 'list' | 'counts'>;
  readonly storaged: Pick<Storaged, 'status'>;
  /** The number that stays with a name. */
  readonly index: (table: Table, name: string) => number;
}

const sizes = (name: string, bytes: number): Values => ({ [`${name}MiB`]: mebibytes(bytes), [name]: bytes });

function leaves(vdevs: readonly Vdev[]): Vdev[] {
  return vdevs.flatMap((vdev) => (vdev.children.length > 0 ? leaves(vdev.children) : [vdev]));
}

export async function collect(parts: CollectParts): Promise<string[]> {
  const { clock, status, inventory, tree, services, alerts, storaged, index } = parts;
  const row = (table: Table, name: string, values: Values) => rowLines(table, index(table, name), values);
  const now = clock.now();
  const [overall, pools, disks, datasets, running, store] = await Promise.all([
    status.read().catch(() => null),
    inventory.pools().catch(() => null),
    inventory.disks().catch(() => null),
    tree.get().catch(() => null),
    services.read().catch(() => null),
    storaged.status().catch(() => null),
  ]);
  const recent = (reading: { ageSeconds: number } | null) => reading !== null && reading.ageSeconds <= OLDEST_S;
  const readAt = (reading: { ageSeconds: number }) => now - reading.ageSeconds * 1000;
  const lines: string[] = [];

  if (overall !== null) {
    const { version, uptimeSeconds, severity, sentence } = overall;
    const values = { Version: version, UpTime: uptimeSeconds, Condition: conditions[severity], Sentence: sentence };
    lines.push(...scalarLines('System', { LastUpdate: now, ...values }));
  }
  if (pools !== null && recent(pools)) {
    lines.push(...scalarLines('Pools', { LastUpdate: readAt(pools) }));
    for (const { name, state, bytes, allocated, free, capacity, errors, scan, sentence } of pools.value) {
      const scanning = scan?.state === 'scanning' ? scan : null;
      lines.push(
        ...row('Pool', name, {
          ...{ Name: name, State: poolStates[state], Capacity: capacity * 100, Errors: errors, Sentence: sentence },
          ...{ ...sizes('Size', bytes), ...sizes('Allocated', allocated), ...sizes('Free', free) },
          ...{ Scan: scans[scanning?.kind ?? 'none'], ScanPercent: scanning?.percent ?? 0 },
        }),
      );
    }
  }
  if (disks !== null && recent(disks) && pools !== null && recent(pools)) {
    lines.push(...scalarLines('Disks', { LastUpdate: readAt(disks) }));
    const places = new Map(pools.value.flatMap(({ vdevs }) => leaves(vdevs)).map((vdev) => [vdev.diskId, vdev]));
    for (const { id, model, serial, state, bytes, pool } of disks.value) {
      const vdev = places.get(id);
      lines.push(
        ...row('Disk', id, {
          ...{ Name: id, Model: model ?? '', Serial: serial ?? '', State: diskStates[state], PoolName: pool ?? '' },
          ...sizes('Size', bytes),
          ...{ ReadErrors: vdev?.readErrors, WriteErrors: vdev?.writeErrors, ChecksumErrors: vdev?.checksumErrors },
        }),
      );
    }
  }
  if (datasets !== null && recent(datasets)) {
    lines.push(...scalarLines('Datasets', { LastUpdate: readAt(datasets) }));
    for (const one of datasets.datasets.slice(0, MAX_DATASETS)) {
      lines.push(
        ...row('Dataset', one.name, {
          ...{ Name: one.name, Kind: kinds[one.kind], CompressRatio: one.compressRatio * 100 },
          ...{ ...sizes('Used', one.used), ...sizes('Available', one.available) },
          ...sizes('Referenced', one.referenced),
        }),
      );
    }
  }
  if (running !== null && recent(running)) {
    lines.push(...scalarLines('Services', { LastUpdate: readAt(running) }));
    for (const { name, state, memoryBytes, restarts } of running.value) {
      const MemoryMiB = memoryBytes === null ? null : mebibytes(memoryBytes);
      lines.push(...row('Service', name, { Name: name, State: serviceStates[state], MemoryMiB, Restarts: restarts }));
    }
  }
  const counts = alerts.counts();
  const { critical: Critical, warning: Warning, info: Info } = counts;
  lines.push(...scalarLines('Alerts', { LastUpdate: now, Critical, Warning, Info }));
  for (const one of alerts.list({ state: 'active', limit: MAX_ALERTS })) {
    const number = (value: number | null) => (value === null ? '' : figure(value));
    lines.push(
      ...row('ActiveAlert', one.id, {
        ...{ Id: one.id, Class: one.class, Severity: severities[one.severity], Title: one.title, Text: one.text },
        ...{ Value: number(one.value), Limit: number(one.limit), Raised: Date.parse(one.raisedAt) },
        Acknowledged: one.acknowledged !== null,
      }),
    );
  }
  if (store !== null) {
    const { startedAt, samplesPerSecond: SamplesPerSecond, series: Series, accepted, rejected } = store;
    const StartedAt = startedAt === undefined ? null : Date.parse(startedAt);
    lines.push(...scalarLines('Ingest', { LastUpdate: now, StartedAt, SamplesPerSecond, Series }));
    for (const [name, Accepted] of Object.entries(accepted ?? {}))
      lines.push(...row('Input', name, { Name: name, Accepted }));
    for (const [name, Samples] of Object.entries(rejected ?? {}))
      lines.push(...row('Refusal', name, { Reason: name, Samples }));
  }
  return lines;
}
