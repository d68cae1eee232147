// What is sent here, as Status answers for it.
import { domain, type Kernel } from '../../domain/domain.ts';
import type { LogsDomain } from '../../system/logs/index.ts';
import type { HostsDomain } from '../hosts/index.ts';
import { Incoming } from './incoming.ts';
import { routes } from './routes.ts';

export { Incoming as IncomingDocument } from './schema.ts';

export interface IncomingDomain {
  readonly incoming: Incoming;
}

export const incomingDomain = domain({
  name: 'analytics/incoming',
  routes,
  create: ({ clock, log, storaged, logs, hosts }: Kernel & LogsDomain & HostsDomain) => {
    const incoming = new Incoming({ clock, log, storaged, logs, hosts });
    return {
      provides: { incoming } satisfies IncomingDomain,
      handlers: {
        listWorstMoments: ({ caller }) =>
          incoming.moments(caller.role === 'operator' || caller.role === 'administrator'),
      },
    };
  },
});
