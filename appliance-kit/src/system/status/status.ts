// Puts together the one sentence the appliance is described with, from the parts it is made of.

import type { Setup } from '../../access/setup/index.ts';
import type { Alerts } from '../../alerting/alerts/index.ts';
import type { IncomingDomain } from '../../analytics/incoming/index.ts';
import { CachedReading } from '../../base/cached-reading.ts';
import { type Clock, iso } from '../../base/clock.ts';
import { enumerate, percent, plural } from '../../base/words.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Storaged, StorageStatus } from '../../peers/storaged.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Service } from '../../platform/service.ts';
import type { Inventory, Pool } from '../../storage/inventory/index.ts';
import type { Services } from '../services/index.ts';
import type { routes } from './routes.ts';
import type { Condition, Status as StatusDocument, StatusPart } from './schema.ts';

const rank: Record<Condition, number> = { ok: 0, info: 1, warning: 2, critical: 3 };
const worse = (a: Condition, b: Condition): Condition => (rank[a] >= rank[b] ? a : b);

/** ZFS slows down when it has to search for free space; both marks leave time to act. */
const FULL = 0.8;
const VERY_FULL = 0.95;

interface Ingest {
  readonly status: StorageStatus;
  readonly rejectedTotal: number;
  readonly at: number;
  readonly rejectedPerSecond: number;
}

export interface StatusParts {
  readonly clock: Clock;
  readonly platform: Platform;
  readonly inventory: Inventory;
  readonly services: Services;
  readonly alerts: Alerts;
  readonly storaged: Storaged;
  readonly setup: Setup;
  readonly version: string;
  readonly incoming: IncomingDomain['incoming'];
}

function poolCondition(pool: Pool): Condition {
  if (pool.state !== 'ONLINE') return pool.state === 'DEGRADED' ? 'warning' : 'critical';
  if (pool.errors > 0 || pool.capacity >= VERY_FULL) return 'critical';
  return pool.capacity >= FULL ? 'warning' : 'ok';
}

export function safetyPart(pools: readonly Pool[], error: string | null): StatusPart {
  const part = { name: 'pools', title: 'Data safety', page: '/storage' };
  if (pools.length === 0) {
    return { ...part, state: error === null ? 'info' : 'warning', sentence: error ?? 'There is no pool yet.' };
  }
  const state = pools.map(poolCondition).reduce(worse);
  const bad = pools.filter((pool) => poolCondition(pool) !== 'ok');
  const [first] = bad;
  const sentence =
    first === undefined
      ? `${plural(pools.length, 'pool')}, healthy.`
      : bad.length === 1
        ? `Pool “${first.name}”: ${first.state === 'ONLINE' && first.errors === 0 ? `${percent(first.capacity)} full.` : first.sentence}`
        : `${plural(bad.length, 'pool')} need attention: ${enumerate(bad.map(({ name }) => name))}.`;
  return { ...part, state, sentence };
}

export function servicesPart(services: readonly Service[]): StatusPart {
  const part = { name: 'services', title: 'Services', page: '/services' };
  if (services.length === 0) return { ...part, state: 'info', sentence: 'The state of the services is not known yet.' };
  const failed = services.filter(({ state }) => state === 'failed' || state === 'maintenance');
  if (failed.length > 0) {
    return { ...part, state: 'critical', sentence: `${enumerate(failed.map(({ title }) => title))} failed.` };
  }
  const waiting = services.filter(({ state }) => state !== 'online');
  if (waiting.length > 0) {
    const [first] = waiting as [Service];
    const why = first.waitingFor === null ? '' : ` It waits for ${first.waitingFor}.`;
    const words =
      waiting.length === 1
        ? `${first.title} is not running.${why}`
        : `${plural(waiting.length, 'service')} are not running.`;
    return { ...part, state: 'info', sentence: words };
  }
  return { ...part, state: 'ok', sentence: `All ${services.length} services are running.` };
}

export class Status {
  readonly #parts: StatusParts;
  readonly #ingest: CachedReading<Ingest | null>;

  constructor(parts: StatusParts) {
    this.#parts = parts;
    let before: Ingest | null = null;
    this.#ingest = new CachedReading<Ingest | null>(
      async () => {
        const status = await parts.storaged.status();
        const at = parts.clock.now();
        const rejectedTotal = Object.values(status.rejected ?? {}).reduce((sum, one) => sum + one, 0);
        const seconds = before === null ? 0 : (at - before.at) / 1000;
        // A total that went down was begun anew by a restart.
        const more = before === null || rejectedTotal < before.rejectedTotal ? 0 : rejectedTotal - before.rejectedTotal;
        before = { status, at, rejectedTotal, rejectedPerSecond: seconds > 0 ? more / seconds : 0 };
        return before;
      },
      parts.clock,
      { maxAgeMs: 2_000, patienceMs: 1_000, nothing: null },
    );
  }

  async read(): Promise<StatusDocument> {
    const { clock, platform, inventory, services, alerts, setup, version } = this.#parts;
    const [pools, running, ingest, incoming] = await Promise.all([
      inventory.pools(),
      services.read(),
      this.#ingest.get(),
      this.#parts.incoming.read(),
    ]);
    const available = ingest.value !== null && ingest.error === null;
    const figures = available ? ingest.value : null;
    const counts = alerts.counts();
    const safety = safetyPart(pools.value, pools.error);
    const parts = [
      safety,
      this.#ingestPart(pools.value, figures),
      servicesPart(running.value),
      this.#alertPart(counts),
    ];
    const severity = parts.map(({ state }) => state).reduce(worse);
    const { hostName } = platform.identity();
    return {
      ...this.#answer(parts, severity, setup.completed()),
      severity,
      parts,
      pools: pools.value.map(({ name, state, system, telemetry, bytes, allocated, capacity, sentence }) => ({
        name,
        state,
        system,
        telemetry,
        bytes,
        allocated,
        capacity,
        sentence,
      })),
      incoming,
      alerts: counts,
      ingest: {
        samplesPerSecond: figures?.status.samplesPerSecond ?? 0,
        rejectedPerSecond: figures?.rejectedPerSecond ?? 0,
        series: figures?.status.series ?? 0,
        available,
      },
      hostName,
      version,
      uptimeSeconds: platform.uptimeSeconds(),
      time: iso(clock.now()),
    };
  }

  #ingestPart(pools: readonly Pool[], ingest: Ingest | null): StatusPart {
    const part = { name: 'ingest', title: 'Ingest', page: '/analytics' };
    if (ingest === null) {
      const placed = pools.some(({ telemetry }) => telemetry);
      const state = placed ? 'critical' : 'info';
      const sentence = placed
        ? 'The telemetry store does not answer: no measurement is taken in.'
        : 'There is no pool for telemetry yet, so no measurement is taken in.';
      return { ...part, state, sentence };
    }
    const { status, rejectedPerSecond } = ingest;
    const rate = `${Math.round(status.samplesPerSecond)} samples a second in ${plural(status.series, 'series', 'series')}`;
    if (rejectedPerSecond > 0) {
      const sentence = `${rate}; ${Math.ceil(rejectedPerSecond)} a second are refused.`;
      return { ...part, state: 'warning', sentence };
    }
    return { ...part, state: 'ok', sentence: `${rate}.` };
  }

  #alertPart(counts: StatusDocument['alerts']): StatusPart {
    const part = { name: 'alerts', title: 'Alerts', page: '/alerts' };
    const state = counts.critical > 0 ? 'critical' : counts.warning > 0 ? 'warning' : counts.info > 0 ? 'info' : 'ok';
    const words = (['critical', 'warning', 'info'] as const)
      .filter((severity) => counts[severity] > 0)
      .map((severity) => `${counts[severity]} ${severity === 'info' ? 'for information' : severity}`);
    return { ...part, state, sentence: words.length === 0 ? 'No alert is active.' : `Active: ${enumerate(words)}.` };
  }

  #answer(
    parts: readonly StatusPart[],
    severity: Condition,
    setUp: boolean,
  ): Pick<StatusDocument, 'sentence' | 'next'> {
    if (!setUp) {
      return { sentence: 'Set-up is not finished.', next: { text: 'Go on with set-up', page: '/setup' } };
    }
    if (severity === 'ok') return { sentence: 'All is well.', next: null };
    const worst = parts.find(({ state }) => state === severity) as StatusPart;
    const [group] = this.#parts.alerts.groups.summary().worst;
    if (worst.name !== 'alerts' || group === undefined) {
      return { sentence: worst.sentence, next: { text: `Go to ${worst.title}`, page: worst.page } };
    }
    // Of a burst, how many they are and what they have in common.
    const sentence = group.alert === null ? `${group.title}. ${group.text}`.trim() : group.text;
    return { sentence, next: { text: group.action, page: `/alerts/${group.alert?.id ?? group.id}` } };
  }
}

export function statusRoutes(status: Status): Handlers<typeof routes> {
  return { getStatus: () => status.read() };
}
