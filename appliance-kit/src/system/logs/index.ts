// The logs, as supportd reads them.
import { domain, type Kernel } from '../../domain/domain.ts';
import { logRoutes } from './handlers.ts';
import { routes } from './routes.ts';

export const logsDomain = domain({
  name: 'system/logs',
  routes,
  create: ({ supportd, identify }: Kernel) => ({ handlers: logRoutes(supportd, identify) }),
});
