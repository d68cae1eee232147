// Identity providers: people of a company's directory, or of OpenID Connect, sign in without an account made here.
import { anywhere, type DestinationsDomain, elsewhere } from '../../alerting/destinations/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import { SealedFields } from '../../state/sealed-fields.ts';
import type { AuditDomain } from '../audit/index.ts';
import type { SessionDomain } from '../session/index.ts';
import type { UsersDomain } from '../users/index.ts';
import { providerRoutes } from './handlers.ts';
import { migrations } from './migrations.ts';
import { Providers } from './providers.ts';
import { routes } from './routes.ts';
import { SECRETS } from './settings.ts';
import { providersPart } from './settings-part.ts';

export const providersDomain = domain({
  name: 'access/providers',
  routes,
  migrations,
  create: (parts: Kernel & AuditDomain & UsersDomain & DestinationsDomain & SessionDomain) => {
    const { db, clock, seal, log, users, audit, platform, config, dependentsOnUsers } = parts;
    const sealed = new SealedFields({ seal, log, kind: 'provider', table: 'providers', secrets: SECRETS });
    // In development the providers run beside the appliance.
    const reach = platform.simulate === undefined ? elsewhere : anywhere;
    const providers = new Providers({
      ...{ db, clock, users, sealed, reach },
      changed: (user, by, before, after) => {
        const who = { name: user, address: 'local', way: 'appliance' } as const;
        if (before === null) audit.record(who, 'user.appear', user, null, { by, role: after });
        else audit.record(who, 'user.update', user, { role: before }, { by, role: after });
      },
    });
    users.external = providers;
    const now = () => clock.now();
    const handlers = providerRoutes({
      ...{ ...parts, providers, cookies: { secure: config.secureCookies } },
      ...{ dependents: dependentsOnUsers, now },
    });
    return {
      provides: {},
      handlers,
      settingsParts: [providersPart({ providers, now, audit, changes: parts.changes, handlers })],
    };
  },
});
