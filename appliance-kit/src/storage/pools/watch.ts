// Pools: what changed, and what is wrong with them.
import type { Changes } from '../../http/live-updates/changes.ts';
import { ChangeDetector, type Watch } from '../../poller/poller.ts';
import type { Inventory } from '../inventory/index.ts';
import type { PoolConditions } from './conditions.ts';

/** The pool that holds the telemetry, as of the last round; null when there is none, or it is not known. */
export interface TelemetryPool {
  name: string | null;
}

export function poolWatch(parts: {
  inventory: Inventory;
  poolConditions: PoolConditions;
  telemetryPool: TelemetryPool;
  changes: Changes;
}): Watch {
  const { inventory, poolConditions, telemetryPool } = parts;
  const detector = new ChangeDetector(parts.changes, 'pools');
  return {
    look: async () => {
      const { disks, pools } = await inventory.look();
      return async () => {
        telemetryPool.name = null;
        if (pools.error !== null) return;
        telemetryPool.name = pools.value.find(({ telemetry }) => telemetry)?.name ?? null;
        // Noted before the pages are informed: what they ask for then is there.
        await poolConditions.look(pools.value, disks.value);
        detector.compare(pools.value);
      };
    },
  };
}
