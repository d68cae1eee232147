// Pools: making, changing, scrubbing and giving them up.
import type { AuditDomain } from '../../access/audit/index.ts';
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import type { JobsDomain } from '../../jobs/index.ts';
import { Vdev } from '../../platform/pool.ts';
import { Hourly } from '../../schedules/hourly.ts';
import type { InventoryDomain } from '../inventory/index.ts';
import { alertClasses } from './alerts.ts';
import { PoolConditions } from './conditions.ts';
import { lookAtTrend } from './filling.ts';
import { migrations } from './migrations.ts';
import { operationRoutes, PoolOperations } from './operations.ts';
import { Pools, poolRoutes } from './pools.ts';
import { routes } from './routes.ts';
import { Scans, scanRoutes } from './scans.ts';
import { scrubSchedulesPart } from './settings-part.ts';
import { poolWatch, type TelemetryPool } from './watch.ts';

export { poolKeysOf } from './alerts.ts';
export type { TelemetryPool } from './watch.ts';

export interface PoolsDomain {
  readonly telemetryPool: Readonly<TelemetryPool>;
}

export const poolsDomain = domain({
  name: 'storage/pools',
  routes,
  topics: ['pools'],
  jobKinds: {
    'pool.create': 'A pool is made of disks',
    'pool.import': 'A pool that was found on disks is imported',
    'pool.export': 'A pool is given up, so that another machine can import it',
    'pool.destroy': 'A pool is destroyed',
    'pool.add': 'Disks are added to a pool',
    'pool.remove': 'A device is taken out of a pool, and its data are moved',
    'disk.replace': 'A device is replaced by a disk',
    'disk.attach': 'A mirror gets another side',
    'telemetry.place': 'The telemetry gets its dataset',
  },
  schemas: [Vdev],
  alertClasses,
  migrations,
  create: (parts: Kernel & AuditDomain & JobsDomain & AlertsDomain & InventoryDomain) => {
    const { platform, config, log, storaged, changes, poller, timetable } = parts;
    const { audit, jobs, alerts, conditions, inventory, db, clock } = parts;
    const changed = () => void poller.look();
    const scans = new Scans({ db, clock, log, platform, inventory, timetable, alerts, audit, changes });
    const pools = new Pools({ platform, inventory, jobs, audit, changed });
    const operations = new PoolOperations({
      ...{ platform, inventory, jobs, audit, changed },
      lookEveryMs: Math.min(1_000, config.pollMs / 5),
    });
    const telemetryPool: TelemetryPool = { name: null };
    const filling = new Hourly(log, 'how soon pools are full is not known', () => lookAtTrend(storaged, conditions));
    let unwatch: (() => void) | undefined;
    const scanHandlers = scanRoutes(scans);
    return {
      provides: { telemetryPool } satisfies PoolsDomain,
      handlers: { ...poolRoutes(pools, inventory), ...operationRoutes(operations), ...scanHandlers },
      settingsParts: [scrubSchedulesPart(inventory, scans, scanHandlers)],
      watch: [
        poolWatch({
          inventory,
          poolConditions: new PoolConditions({ platform, conditions, scans }),
          telemetryPool,
          changes,
        }),
      ],
      start: () => {
        filling.start();
        unwatch = platform.watchPools?.(changed);
      },
      stop: () => {
        unwatch?.();
        filling.stop();
      },
    };
  },
});
