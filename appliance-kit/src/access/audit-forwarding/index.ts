// The audit log, sent on as it is written to a syslog receiver of somebody else's.
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import type { AuditDomain } from '../audit/index.ts';
import { alertClasses, auditUnforwarded } from './alerts.ts';
import { Forwarder, positionSetting, targetSetting } from './forwarder.ts';
import { forwardingRoutes } from './handlers.ts';
import { routes } from './routes.ts';
import { auditForwardingPart } from './settings-part.ts';

export const auditForwardingDomain = domain({
  name: 'access/audit-forwarding',
  routes,
  alertClasses,
  settings: [targetSetting, positionSetting],
  create: ({ db, clock, settings, changes, hostName, audit, conditions }: Kernel & AuditDomain & AlertsDomain) => {
    const forwarder = new Forwarder({
      ...{ audit, db, settings, clock, hostName },
      changed: () => changes.publish('audit'),
    });
    const handlers = forwardingRoutes({ db, clock, changes, audit, forwarder, hostName });
    return {
      handlers,
      settingsParts: [auditForwardingPart(forwarder, () => clock.now(), handlers)],
      periodic: [{ everyMs: 1_000, run: () => forwarder.tick() }],
      watch: [
        {
          look: async () => () => {
            const { error } = forwarder;
            const { host, port } = forwarder.target() ?? {};
            const args = { receiver: `${host}:${port}`, error: error ?? '', waiting: forwarder.waiting() };
            conditions.report(auditUnforwarded, error === null ? [] : [{ args }]);
          },
        },
      ],
      stop: () => forwarder.stop(),
    };
  },
});
