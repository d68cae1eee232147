// Services that have failed, or end again and again.
import type { Conditions } from '../../alerting/alerts/index.ts';
import type { Clock } from '../../base/clock.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import { ChangeDetector, type Watch } from '../../poller/poller.ts';
import type { TelemetryPool } from '../../storage/pools/index.ts';
import { serviceFailed, serviceRestarting } from './alerts.ts';
import type { RestartWatch } from './restarts.ts';
import type { Services } from './services.ts';

export function serviceWatch(parts: {
  services: Services;
  restarts: RestartWatch;
  clock: Clock;
  conditions: Conditions;
  changes: Changes;
  telemetryPool: Readonly<TelemetryPool>;
}): Watch {
  const { services, restarts, clock, conditions, telemetryPool } = parts;
  const detector = new ChangeDetector(parts.changes, 'services');
  return {
    look: async () => {
      const running = await services.renew();
      return () => {
        // Memory changes with every look; it is no reason to inform pages.
        detector.compare(running.map(({ memoryBytes: _, ...service }) => service));
        const failed = running.filter(({ state }) => state === 'failed' || state === 'maintenance');
        const pool = (service: string) => (service === 'storaged' ? telemetryPool.name : null);
        conditions.report(
          serviceFailed,
          failed.map(({ name: service, title, reason }) => ({ args: { service, title, reason, pool: pool(service) } })),
        );
        conditions.report(
          serviceRestarting,
          restarts.look(running, clock.monotonic()).map(({ service, title, reason }) => ({
            args: { service, title, reason, pool: pool(service) },
          })),
        );
      };
    },
  };
}
