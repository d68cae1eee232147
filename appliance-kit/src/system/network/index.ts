// The addresses of the machine, and trying others.
import type { AuditDomain } from '../../access/audit/index.ts';
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import { ProblemError } from '../../base/problems/problem.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import { alertClasses } from './alerts.ts';
import { endedSetting, Network } from './network.ts';
import { routes } from './routes.ts';

export const networkDomain = domain({
  name: 'system/network',
  routes,
  alertClasses,
  topics: ['network'],
  settings: [endedSetting],
  create: (parts: Kernel & AuditDomain & AlertsDomain) => {
    const network = new Network(parts);
    return {
      handlers: {
        getNetwork: () => network.get(),
        tryNetwork: ({ body, caller }) => network.try(body, caller),
        confirmNetwork: ({ body, caller }) => network.confirm(body.token, caller),
        cancelNetwork: ({ caller }) => network.cancel(caller),
      },
      periodic: [
        {
          everyMs: 60_000,
          run: () =>
            network.look().catch((error: unknown) => {
              // execd that is away is shown by its service; OmniOS is asked by its own tools.
              if (!(error instanceof ProblemError)) throw error;
            }),
        },
      ],
    };
  },
});
