// The first-use wizard.
import { domain, type Kernel } from '../../domain/domain.ts';
import type { AuditDomain } from '../audit/index.ts';
import type { FactorsDomain } from '../factors/index.ts';
import type { SessionDomain } from '../session/index.ts';
import type { UsersDomain } from '../users/index.ts';
import { routes } from './routes.ts';
import { settings } from './settings.ts';
import { identityPart } from './settings-part.ts';
import { Setup, setupRoutes } from './setup.ts';
import { timeZoneRoutes } from './timezones.ts';

export type { Setup } from './setup.ts';

export interface SetupDomain {
  readonly setup: Setup;
}

export const setupDomain = domain({
  name: 'access/setup',
  routes,
  topics: ['setup'],
  settings,
  create: (parts: Kernel & AuditDomain & UsersDomain & SessionDomain & FactorsDomain) => {
    const { config } = parts;
    const setupParts = { ...parts, cookies: { secure: config.secureCookies }, codeFile: config.setupCodeFile };
    const setup = new Setup(setupParts);
    const handlers = setupRoutes(setupParts, setup);
    return {
      provides: { setup } satisfies SetupDomain,
      handlers: { ...handlers, ...timeZoneRoutes() },
      settingsParts: [identityPart(setupParts, handlers)],
    };
  },
});
