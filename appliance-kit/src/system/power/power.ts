// Rebooting and switching off.

import type { Audit } from '../../access/audit/index.ts';
import type { Caller } from '../../http/gate/caller.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Platform } from '../../platform/platform.ts';
import type { routes } from './routes.ts';

export function powerRoutes(platform: Platform, audit: Audit): Handlers<typeof routes> {
  const power = async (action: 'reboot' | 'off', caller: Caller) => {
    // Before it: afterwards may be too late to write anything down.
    audit.record(caller, `power.${action}`, platform.identity().hostName);
    await platform.power(action);
    return undefined;
  };
  return {
    reboot: ({ caller }) => power('reboot', caller),
    powerOff: ({ caller }) => power('off', caller),
  };
}
