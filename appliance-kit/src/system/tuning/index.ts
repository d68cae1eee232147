// How the operating system is tuned.
import type { AuditDomain } from '../../access/audit/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import { asked, onePart } from '../../domain/settings-part.ts';
import { routes } from './routes.ts';
import { TuningSettings } from './schema.ts';
import { settingsOf, tuningRoutes } from './tuning.ts';

export const tuningDomain = domain({
  name: 'system/tuning',
  routes,
  topics: ['tuning'],
  create: (parts: Kernel & AuditDomain) => {
    const handlers = tuningRoutes(parts);
    return {
      handlers,
      settingsParts: [
        onePart({
          ...{ name: 'tuning', title: 'How the operating system is tuned', version: 1, schema: TuningSettings },
          covers: ['setTuning'],
          read: async () => settingsOf(await parts.platform.tuning.read()),
          set: (body, caller) => asked(handlers.setTuning, { body, caller }),
        }),
      ],
    };
  },
});
