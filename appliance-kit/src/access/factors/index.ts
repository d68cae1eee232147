// What is given besides the password: codes of authenticator apps, and recovery codes for who has lost the app.
import { dirname, join } from 'node:path';
import { domain, type Kernel } from '../../domain/domain.ts';
import type { AuditDomain } from '../audit/index.ts';
import type { UsersDomain } from '../users/index.ts';
import { Factors } from './factors.ts';
import { factorRoutes } from './handlers.ts';
import { migrations } from './migrations.ts';
import { Passkeys } from './passkeys.ts';
import { routes } from './routes.ts';
import { settings } from './settings.ts';
import { secondFactorPart } from './settings-part.ts';
import { UsedThereFile } from './used-there.ts';

export type { Checked, Factors } from './factors.ts';
export { type Passkeys, type Site, siteOf } from './passkeys.ts';
export { UsedPasskey } from './schema.ts';

export interface FactorsDomain {
  readonly factors: Factors;
  readonly passkeys: Passkeys;
}

export const factorsDomain = domain({
  name: 'access/factors',
  routes,
  migrations,
  settings,
  create: (parts: Kernel & AuditDomain & UsersDomain) => {
    const { config, log, users, dependentsOnUsers } = parts;
    // Beside akd's own folder; supportd lets akd's group read it.
    const usedThere = new UsedThereFile(join(dirname(config.state), 'support', 'used-factors.json'), log);
    const passkeys = new Passkeys(parts.db, parts.clock);
    const factors = new Factors({ ...parts, passkeys, usedThere, changed: () => users.administratorsChanged() });
    users.secondFactors = factors;
    return {
      provides: { factors, passkeys } satisfies FactorsDomain,
      handlers: factorRoutes({
        ...{ ...parts, factors, passkeys },
        ...{ dependents: dependentsOnUsers, secureCookies: config.secureCookies },
      }),
      settingsParts: [secondFactorPart(factors, parts.audit, parts.changes)],
      start: () => {
        factors.takeOver();
        users.administratorsChanged();
      },
    };
  },
});
