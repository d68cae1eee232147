// Processes that crashed.
import type { AuditDomain } from '../../access/audit/index.ts';
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import { alertClasses } from './alerts.ts';
import { Crashes, crashRoutes } from './crashes.ts';
import { routes } from './routes.ts';

export const crashesDomain = domain({
  name: 'support/crashes',
  routes,
  topics: ['crashes'],
  alertClasses,
  create: (parts: Kernel & AuditDomain & AlertsDomain) => {
    const crashes = new Crashes(parts);
    return {
      handlers: crashRoutes(crashes, parts.audit),
      start: () => void crashes.follow(),
      stop: () => crashes.stop(),
    };
  },
});
