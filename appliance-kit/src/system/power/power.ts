// Rebooting and switching off.

import type { Audit } from '../../access/audit/index.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Platform } from '../../platform/platform.ts';
import type { routes } from './routes.ts';

export function powerRoutes(platform: Platform, audit: Audit): Handlers<typeof routes> {
  return {
    power: async ({ body, caller }) => {
      // Before it: afterwards may be too late to write anything down.
      audit.record(caller, `power.${body.action}`, platform.identity().hostName);
      await platform.power(body.action);
      return undefined;
    },
  };
}
