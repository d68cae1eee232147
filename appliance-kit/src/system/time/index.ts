// Whom the appliance asks for the time, and whether they agree.
import type { AuditDomain } from '../../access/audit/index.ts';
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import { ProblemError } from '../../base/problems/problem.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import { asked, onePart } from '../../domain/settings-part.ts';
import { alertClasses } from './alerts.ts';
import { routes } from './routes.ts';
import { TimeSettings } from './schema.ts';
import { lookAtTime, normalised, settingsOf, timeRoutes } from './time.ts';

export const timeDomain = domain({
  name: 'system/time',
  routes,
  topics: ['time'],
  alertClasses,
  create: (parts: Kernel & AuditDomain & AlertsDomain) => {
    const handlers = timeRoutes(parts);
    const { platform } = parts;
    return {
      handlers,
      settingsParts: [
        onePart({
          ...{ name: 'time', title: 'Whom the appliance asks for the time', version: 1, schema: TimeSettings },
          covers: ['setTime'],
          normalise: normalised,
          read: async () => settingsOf(await platform.time.read()),
          set: (body, caller) => asked(handlers.setTime, { body, caller }),
        }),
      ],
      periodic: [
        {
          everyMs: 60_000,
          run: () =>
            lookAtTime(parts).catch((error: unknown) => {
              // execd or a store that is away is shown by its service; it is looked at again in a minute.
              if (!(error instanceof ProblemError) || !['service_unavailable', 'timeout'].includes(error.problem.code))
                throw error;
            }),
        },
      ],
    };
  },
});
