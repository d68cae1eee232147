// Which systems are installed, and which one starts next time. Choosing one restarts nothing.

import type { Audit } from '../../access/audit/index.ts';
import { iso } from '../../base/clock.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Platform } from '../../platform/platform.ts';
import type { PlatformSystem } from '../../platform/systems.ts';
import type { routes } from './routes.ts';
import type { BootEnvironment } from './schema.ts';

function describe({ createdMs, obstacle, ...rest }: PlatformSystem): BootEnvironment {
  return {
    ...rest,
    createdAt: createdMs === null ? null : iso(createdMs),
    obstacle: obstacle === '' ? null : obstacle,
  };
}

export function systemRoutes(platform: Platform, audit: Audit): Handlers<typeof routes> {
  return {
    listBootEnvironments: async () => ({ items: (await platform.systems.list()).map(describe) }),
    activateBootEnvironment: async ({ params, caller }) => {
      const items = (await platform.systems.activate(params.name)).map(describe);
      audit.record(caller, 'system.activate', params.name);
      return { items };
    },
  };
}
