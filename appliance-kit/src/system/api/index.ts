// The API's own description, and the stream of what changes.
import { domain, type Kernel } from '../../domain/domain.ts';
import { routes } from './routes.ts';

export const apiDomain = domain({
  name: 'system/api',
  routes,
  create: ({ changes, identify, openapi }: Kernel) => ({
    handlers: {
      getOpenapi: () => openapi(),
      watchEvents: ({ caller, request, reply }) => {
        changes.serve(caller, reply, () => identify(request).role !== null);
        return undefined;
      },
    },
  }),
});
