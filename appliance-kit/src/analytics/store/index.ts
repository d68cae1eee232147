// How the telemetry store is: what it cannot read, refuses or loses.
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import type { PoolsDomain } from '../../storage/pools/index.ts';
import { alertClasses } from './alerts.ts';
import { storeWatch } from './watch.ts';

export const storeDomain = domain({
  name: 'analytics/store',
  alertClasses,
  create: (parts: Kernel & AlertsDomain & PoolsDomain) => ({ watch: [storeWatch(parts)] }),
});
