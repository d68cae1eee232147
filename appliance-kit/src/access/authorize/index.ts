// What nginx asks before it lets a request through to the telemetry store.
import { domain, type Kernel } from '../../domain/domain.ts';
import type { TokensDomain } from '../tokens/index.ts';
import { authorizeRoutes } from './authorize.ts';
import { routes } from './routes.ts';

export const authorizeDomain = domain({
  name: 'access/authorize',
  routes,
  create: ({ identify, tokenByCertificate, clock }: Kernel & TokensDomain) => ({
    handlers: authorizeRoutes(identify, tokenByCertificate, clock),
  }),
});
