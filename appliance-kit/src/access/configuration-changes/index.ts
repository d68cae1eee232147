// Changes of the configuration, as alerts.
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import { alertClasses } from './alerts.ts';
import { ConfigurationChangeAlerts, reported } from './configuration-changes.ts';

export const configurationChangesDomain = domain({
  name: 'access/configuration-changes',
  alertClasses,
  settings: [reported],
  create: ({ db, clock, settings, alerts }: Kernel & AlertsDomain) => {
    const changes = new ConfigurationChangeAlerts({ db, clock, settings, alerts });
    return { periodic: [{ everyMs: 1_000, run: () => changes.tick() }] };
  },
});
