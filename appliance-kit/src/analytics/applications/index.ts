// Applications: what is served, how much of it fails, and how long it takes, of whatever follows a convention.
import type { AuditDomain } from '../../access/audit/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import { onePart } from '../../domain/settings-part.ts';
import { Applications } from './applications.ts';
import { checkRules } from './names.ts';
import { routes } from './routes.ts';
import { ApplicationRulesInput } from './schema.ts';

const SECONDS = 300;

export const applicationsDomain = domain({
  name: 'analytics/applications',
  routes,
  topics: ['applications'],
  create: (parts: Kernel & AuditDomain) => {
    const applications = new Applications(parts);
    return {
      handlers: {
        listApplications: ({ query }) => applications.list(query.seconds ?? SECONDS, query.host),
        getApplication: ({ params, query }) => applications.get(params.name, query.seconds ?? SECONDS),
        getApplicationNaming: () => applications.rules(),
        setApplicationNaming: ({ body, caller }) => applications.setRules(caller, body),
      },
      settingsParts: [
        onePart({
          ...{ name: 'application-naming', title: 'Applications by name', version: 1, schema: ApplicationRulesInput },
          covers: ['setApplicationNaming'],
          read: () => applications.rules(),
          check: ({ rules }) => checkRules(rules),
          set: (body, by) => applications.setRules(by, body),
        }),
      ],
    };
  },
});
