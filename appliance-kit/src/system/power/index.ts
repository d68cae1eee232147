// Reboot and power off.
import type { AuditDomain } from '../../access/audit/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import { powerRoutes } from './power.ts';
import { routes } from './routes.ts';

export const powerDomain = domain({
  name: 'system/power',
  routes,
  create: ({ platform, audit }: Kernel & AuditDomain) => ({ handlers: powerRoutes(platform, audit) }),
});
