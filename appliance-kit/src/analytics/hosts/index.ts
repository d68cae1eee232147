// Hosts: every machine that metrics come from.
import type { AuditDomain } from '../../access/audit/index.ts';
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import type { SilencesDomain } from '../../alerting/silences/index.ts';
import type { ThresholdsDomain } from '../../alerting/thresholds/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import { alertClasses } from './alerts.ts';
import { hostRoutes } from './handlers.ts';
import { Hosts } from './hosts.ts';
import { migrations } from './migrations.ts';
import { routes } from './routes.ts';
import { hostsPart, hostViewsPart } from './settings-part.ts';
import { HostValuesReader } from './values.ts';
import { HostViews } from './views.ts';
import { hostWatch } from './watch.ts';

export type { Hosts } from './hosts.ts';
export type { Host } from './schema.ts';

export interface HostsDomain {
  readonly hosts: Hosts;
}

/** As soon as a page can show it; the store answers what has changed only. */
const LOOK_MS = 2_000;

export const hostsDomain = domain({
  name: 'analytics/hosts',
  routes,
  alertClasses,
  topics: ['hosts'],
  migrations,
  create: (parts: Kernel & AuditDomain & SilencesDomain & AlertsDomain & ThresholdsDomain) => {
    const hosts = new Hosts(parts);
    const values = new HostValuesReader({ storaged: parts.storaged, hosts });
    const views = new HostViews(parts);
    return {
      provides: { hosts } satisfies HostsDomain,
      handlers: hostRoutes({ ...parts, hosts, values, views }),
      settingsParts: [hostsPart({ ...parts, hosts }), hostViewsPart(views)],
      periodic: [{ everyMs: LOOK_MS, run: () => hosts.look() }],
      watch: [hostWatch({ ...parts, hosts })],
      stop: () => hosts.stop(),
    };
  },
});
