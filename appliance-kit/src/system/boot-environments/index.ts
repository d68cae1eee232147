// The installed systems, and which one starts next time.
import type { AuditDomain } from '../../access/audit/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import { routes } from './routes.ts';
import { systemRoutes } from './systems.ts';

export const bootEnvironmentsDomain = domain({
  name: 'system/boot-environments',
  routes,
  create: ({ platform, audit }: Kernel & AuditDomain) => ({ handlers: systemRoutes(platform, audit) }),
});
