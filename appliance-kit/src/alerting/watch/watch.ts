// Looks at pools, disks, services and destinations every few seconds: tells the pages what changed, and the alerts
// what is wrong. Events of the system (platform/poolEvents.ts) only make it look sooner: events get lost.

import { type Clock, iso } from '../../clock.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Topic } from '../../http/live-updates/schema.ts';
import { DropWatch } from '../../peers/drops.ts';
import { type Damage, JOURNAL, type Storaged } from '../../peers/storaged.ts';
import type { Tracerd } from '../../peers/tracerd.ts';
import type { Inventory } from '../../storage/disks/inventory.ts';
import type { PoolConditions } from '../../storage/pools/conditions.ts';
import type { Faults } from '../../system/faults/faults.ts';
import type { Machine } from '../../system/machine/machine.ts';
import { RestartWatch } from '../../system/services/restarts.ts';
import type { Services } from '../../system/services/services.ts';
import type { Conditions } from '../alerts/conditions.ts';
import {
  datagramsDropped,
  deliveryFailing,
  journalDamaged,
  serviceFailed,
  serviceRestarting,
  statisticStopped,
  storeDamaged,
  storeRefusing,
  thresholdFailing,
} from '../catalogue/catalogue.ts';
import type { Destinations } from '../destinations/destinations.ts';
import type { Thresholds } from '../thresholds/thresholds.ts';

const TRACERD_MS = 1_000;

export interface WatchParts {
  readonly inventory: Inventory;
  readonly services: Services;
  readonly destinations: Destinations;
  readonly storaged: Storaged;
  readonly tracerd: Tracerd;
  readonly conditions: Conditions;
  readonly pools: PoolConditions;
  readonly faults: Faults;
  readonly machine: Machine;
  readonly thresholds: Pick<Thresholds, 'failing'>;
  readonly changes: Changes;
  readonly clock: Clock;
}

/** The times a damaged block covers: "2026-01-01 00:00 to 2026-01-01 06:00 UTC". */
function spanOf({ minTime, maxTime }: Damage): string | null {
  const words = (seconds: number) =>
    iso(seconds * 1000)
      .slice(0, 16)
      .replace('T', ' ');
  return maxTime === 0 ? null : `${words(minTime)} to ${words(maxTime)} UTC`;
}

export class Watch {
  readonly #parts: WatchParts;
  readonly #last = new Map<Topic, string>();
  readonly #restarts = new RestartWatch();
  readonly #drops = (['statsd', 'graphite', 'collectd'] as const).map((input) => ({ input, watch: new DropWatch() }));
  #looking: Promise<void> | null = null;
  #again = false;

  constructor(parts: WatchParts) {
    this.#parts = parts;
  }

  /** That a service ended so many ms ago each time, before anybody could look. */
  endedBefore(service: string, ago: readonly number[]): void {
    this.#restarts.ended(service, ago, this.#parts.clock.monotonic());
  }

  /** Looks now, or once more when a look is under way that may have begun too early. */
  look(): Promise<void> {
    if (this.#looking !== null) {
      this.#again = true;
      return this.#looking;
    }
    this.#looking = this.#round()
      .catch(() => {
        // A reading that failed is kept with its reason by whoever reads; here it only means: nothing is known now.
      })
      .finally(() => {
        this.#looking = null;
        if (this.#again) {
          this.#again = false;
          void this.look();
        }
      });
    return this.#looking;
  }

  #compare(topic: Topic, value: unknown): void {
    const text = JSON.stringify(value);
    if (this.#last.get(topic) !== text) this.#parts.changes.publish(topic);
    this.#last.set(topic, text);
  }

  async #round(): Promise<void> {
    const { inventory, services, destinations, storaged, tracerd, conditions } = this.#parts;
    // Beside the rest, and before deliveries are judged: a cable that was pulled explains them.
    const machine = this.#parts.machine.look().catch(() => {});
    // Read anew, but with patience: a disk that hangs must not hide what it does to its pool.
    const disks = await inventory.disksSoon();
    const [found, running] = await Promise.all([inventory.pools(), services.renew().catch(() => null)]);

    let telemetryPool: string | null = null;
    if (found.error === null) {
      const pools = found.value;
      telemetryPool = pools.find(({ telemetry }) => telemetry)?.name ?? null;
      // Noted before the pages are told: what they ask for then is there.
      await this.#parts.pools.look(pools, disks.value);
      this.#compare('pools', pools);
    }

    if (disks.error === null) {
      this.#compare('disks', disks.value);
      this.#parts.pools.lookAtDisks(disks.value);
      this.#parts.machine.disks = disks.value;
    }

    if (running !== null) {
      // Memory changes with every look; it is no reason to tell anybody.
      this.#compare(
        'services',
        running.map(({ memoryBytes: _, ...service }) => service),
      );
      const failed = running.filter(({ state }) => state === 'failed' || state === 'maintenance');
      conditions.report(
        serviceFailed,
        failed.map(({ name: service, title, reason }) => ({
          args: { service, title, reason, pool: service === 'storaged' ? telemetryPool : null },
        })),
      );
      conditions.report(
        serviceRestarting,
        this.#restarts.look(running, this.#parts.clock.monotonic()).map(({ service, title, reason }) => ({
          args: { service, title, reason, pool: service === 'storaged' ? telemetryPool : null },
        })),
      );
    }

    await this.#parts.faults.look();

    // A store that does not answer is the services' business; what it said before stands.
    // One that hangs must not keep the next look at the pools waiting: both are asked at once, and not for long.
    const [store, measured] = await Promise.all([
      storaged.status().catch(() => null),
      tracerd.datasets(TRACERD_MS).catch(() => null),
    ]);
    if (store !== null) {
      const damaged = store.damaged ?? [];
      conditions.report(
        storeDamaged,
        damaged
          .filter(({ block }) => block !== JOURNAL)
          .map((damage) => ({
            args: { block: damage.block, setAside: damage.setAside, span: spanOf(damage), detail: damage.detail },
          })),
      );
      conditions.report(
        journalDamaged,
        damaged.filter(({ block }) => block === JOURNAL).map(({ detail }) => ({ args: { detail } })),
      );
      const { refusing, statsd, graphite, collectd } = store;
      const inputs = { statsd, graphite, collectd };
      conditions.report(
        datagramsDropped,
        this.#drops.flatMap(({ input, watch }) => {
          const drops = inputs[input]?.kernelDropsKnown ? inputs[input].kernelDrops : null;
          const dropped = watch.look(drops, this.#parts.clock.monotonic());
          return dropped === 0 ? [] : [{ args: { input, dropped } }];
        }),
      );
      conditions.report(
        storeRefusing,
        refusing === undefined
          ? []
          : [
              {
                args: {
                  since: refusing.since,
                  because: refusing.reason,
                  detail: refusing.detail,
                  pool: telemetryPool,
                },
              },
            ],
      );
    }
    conditions.report(
      thresholdFailing,
      this.#parts.thresholds.failing().map((args) => ({ args })),
    );

    if (measured !== null) {
      // What somebody suspended is as it should be, and what nobody has recorded says on its chart what is wrong.
      const stopped = measured.filter(
        ({ overBudget, recorded, state }) => overBudget || (recorded && state === 'failed'),
      );
      conditions.report(
        statisticStopped,
        stopped.map(({ name, overBudget, reason }) => ({
          args: { statistic: name, overBudget, why: reason ?? 'tracerd does not say why.' },
        })),
      );
    }

    await machine;
    const down = this.#parts.machine.down();
    conditions.report(
      deliveryFailing,
      destinations.failing().map(({ id, name, error, waiting }) => ({
        args: { destinationId: id, destinationName: name, error, waiting, linksDown: down.names, cutOff: down.all },
        except: id,
      })),
    );
  }
}
