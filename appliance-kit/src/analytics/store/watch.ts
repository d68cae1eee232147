// Damage, refusals and drops, as the telemetry store reports them. A store that does not answer is the services' business:
// what it reported before stands.
import type { Conditions } from '../../alerting/alerts/index.ts';
import { type Clock, iso } from '../../base/clock.ts';
import { DropWatch } from '../../peers/drops.ts';
import { type Damage, JOURNAL, type Storaged } from '../../peers/storaged.ts';
import type { Watch } from '../../poller/poller.ts';
import type { TelemetryPool } from '../../storage/pools/index.ts';
import { datagramsDropped, journalDamaged, storeBehind, storeDamaged, storeRefusing } from './alerts.ts';

/** The times a damaged block covers: "2026-01-01 00:00 to 2026-01-01 06:00 UTC". */
function spanOf({ minTime, maxTime }: Damage): string | null {
  const words = (seconds: number) =>
    iso(seconds * 1000)
      .slice(0, 16)
      .replace('T', ' ');
  return maxTime === 0 ? null : `${words(minTime)} to ${words(maxTime)} UTC`;
}

/** A block is written as soon as it is due; on a busy machine that takes minutes. */
const LATE_S = 1_800;

/** A store that cannot write answers slowly, and that is when its alerts are needed. */
const PATIENCE_MS = 10_000;

export function storeWatch(parts: {
  storaged: Storaged;
  conditions: Conditions;
  clock: Clock;
  telemetryPool: Readonly<TelemetryPool>;
}): Watch {
  const { storaged, conditions, clock, telemetryPool } = parts;
  const drops = (['statsd', 'graphite', 'collectd'] as const).map((input) => ({ input, watch: new DropWatch() }));
  return {
    look: async () => {
      const store = await storaged.status(PATIENCE_MS);
      return () => {
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
          drops.flatMap(({ input, watch }) => {
            const known = inputs[input]?.kernelDropsKnown ? inputs[input].kernelDrops : null;
            const dropped = watch.look(known, clock.monotonic());
            return dropped === 0 ? [] : [{ args: { input, dropped } }];
          }),
        );
        const refusal = refusing && {
          ...{ since: refusing.since, because: refusing.reason, detail: refusing.detail },
          pool: telemetryPool.name,
        };
        const { lagSeconds = 0, blockSeconds = 0 } = store.journal ?? {};
        const behind = lagSeconds > blockSeconds + LATE_S;
        conditions.report(storeBehind, behind ? [{ args: { lagSeconds, pool: telemetryPool.name } }] : []);
        conditions.report(storeRefusing, refusal === undefined ? [] : [{ args: refusal }]);
      };
    },
  };
}
