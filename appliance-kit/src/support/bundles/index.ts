// Support bundles.
import type { AuditDomain } from '../../access/audit/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import { bundleRoutes } from './handlers.ts';
import { routes } from './routes.ts';

export const bundlesDomain = domain({
  name: 'support/bundles',
  routes,
  topics: ['bundles'],
  create: (parts: Kernel & AuditDomain) => ({ handlers: bundleRoutes(parts) }),
});
