// That the appliance has started, and with which version.
import type { SetupDomain } from '../../access/setup/index.ts';
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import { alertClasses, applianceStarted, applianceUpdated } from './alerts.ts';
import { lastVersion, noteVersion } from './version.ts';

export const versionDomain = domain({
  name: 'system/version',
  alertClasses,
  settings: [lastVersion],
  create: ({ platform, config, settings, hostName, alerts, setup }: Kernel & AlertsDomain & SetupDomain) => ({
    start: async () => {
      const { version } = config;
      const bootId = await platform.bootId();
      // Before set-up there is no destination, and no name of the appliance.
      if (setup.completed()) alerts.raise({ kind: applianceStarted, args: { hostName: hostName(), version, bootId } });
      noteVersion(settings, version, (before) => {
        const args = { hostName: hostName(), before, version, bootId };
        if (setup.completed()) alerts.raise({ kind: applianceUpdated, args });
      });
    },
  }),
});
