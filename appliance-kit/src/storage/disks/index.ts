// Disks: their health, and advice on how to lay them out.
import type { AuditDomain } from '../../access/audit/index.ts';
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import type { InventoryDomain } from '../inventory/index.ts';
import { alertClasses } from './alerts.ts';
import { diskRoutes } from './handlers.ts';
import { DiskHealths, healthRoutes } from './health.ts';
import { routes } from './routes.ts';
import { diskWatch } from './watch.ts';

export { advise, usable } from './advice.ts';
export { type DiskHealths, HOT_CELSIUS } from './health.ts';
export type { Heat } from './heat.ts';
export { byDiskId, LayoutId } from './schema.ts';

export interface DisksDomain {
  readonly healths: DiskHealths;
}

export const disksDomain = domain({
  name: 'storage/disks',
  routes,
  topics: ['disks'],
  alertClasses,
  create: ({
    platform,
    clock,
    changes,
    audit,
    conditions,
    inventory,
  }: Kernel & AuditDomain & AlertsDomain & InventoryDomain) => {
    const healths = new DiskHealths({ platform, inventory, clock, audit });
    return {
      provides: { healths } satisfies DisksDomain,
      handlers: { ...diskRoutes(inventory), ...healthRoutes(healths) },
      watch: [diskWatch({ inventory, healths, conditions, changes })],
    };
  },
});
