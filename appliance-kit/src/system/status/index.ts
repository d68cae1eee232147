// How the appliance is, in a sentence and in parts.
import type { SetupDomain } from '../../access/setup/index.ts';
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import type { IncomingDomain } from '../../analytics/incoming/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import type { InventoryDomain } from '../../storage/inventory/index.ts';
import type { ServicesDomain } from '../services/index.ts';
import { routes } from './routes.ts';
import { Status, statusRoutes } from './status.ts';

export type { Status } from './status.ts';

export interface StatusDomain {
  readonly status: Status;
}

export const statusDomain = domain({
  name: 'system/status',
  routes,
  topics: ['status'],
  create: (parts: Kernel & SetupDomain & AlertsDomain & InventoryDomain & ServicesDomain & IncomingDomain) => {
    const status = new Status({ ...parts, version: parts.config.version });
    return { provides: { status } satisfies StatusDomain, handlers: statusRoutes(status) };
  },
});
