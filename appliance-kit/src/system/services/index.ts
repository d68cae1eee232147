// The services of the appliance.
import type { AuditDomain } from '../../access/audit/index.ts';
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import type { PoolsDomain } from '../../storage/pools/index.ts';
import { alertClasses } from './alerts.ts';
import { OwnEnds, ownEnds } from './ownEnds.ts';
import { RestartWatch } from './restarts.ts';
import { routes } from './routes.ts';
import { Services, serviceRoutes } from './services.ts';
import { serviceWatch } from './watch.ts';

export type { Services } from './services.ts';

export interface ServicesDomain {
  readonly services: Services;
}

export const servicesDomain = domain({
  name: 'system/services',
  routes,
  topics: ['services'],
  alertClasses,
  settings: [ownEnds],
  create: (parts: Kernel & AuditDomain & AlertsDomain & PoolsDomain) => {
    const { platform, clock, log, settings, changes, poller, audit, conditions, telemetryPool } = parts;
    const services = new Services(platform, clock);
    const restarts = new RestartWatch();
    const own = new OwnEnds(settings);
    const changed = () => void poller.look();
    return {
      provides: { services } satisfies ServicesDomain,
      handlers: serviceRoutes({ services, platform, audit, changed, log }),
      watch: [serviceWatch({ services, restarts, clock, conditions, changes, telemetryPool })],
      start: async () => {
        const bootId = await platform.bootId();
        restarts.ended('akd', own.began(bootId, platform.uptimeSeconds() * 1000), clock.monotonic());
      },
      stop: () => own.stopped(),
    };
  },
});
