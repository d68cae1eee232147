// Signing in and out.

import { setTimeout as wait } from 'node:timers/promises';
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import { iso } from '../../base/clock.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import type { AuditDomain } from '../audit/index.ts';
import type { FactorsDomain } from '../factors/index.ts';
import type { UsersDomain } from '../users/index.ts';
import { alertClasses, signInLocked } from './alerts.ts';
import { sessionRoutes } from './handlers.ts';
import { migrations } from './migrations.ts';
import { routes } from './routes.ts';
import { Sessions } from './sessions.ts';
import { settings } from './settings.ts';
import { FREE_GUESSES, Throttle } from './throttle.ts';

export { from } from './handlers.ts';
export { Session } from './schema.ts';
export { type Sessions, secretHash } from './sessions.ts';
export type { Throttle } from './throttle.ts';

export interface SessionDomain {
  readonly sessions: Sessions;
  readonly throttle: Throttle;
}

export const sessionDomain = domain({
  name: 'access/session',
  routes,
  alertClasses,
  settings,
  migrations,
  create: (parts: Kernel & AuditDomain & UsersDomain & FactorsDomain & AlertsDomain) => {
    const { db, clock, config, alerts, factors, dependentsOnUsers } = parts;
    const sessions = new Sessions(db, clock, parts.settings, (user, role) => factors.mustAdd(user, role));
    const throttle = new Throttle(clock, db);
    dependentsOnUsers.push({
      ended: (name, except) => {
        sessions.endOf(name, except);
        if (except === undefined) sessions.forgetBrowsers(name);
      },
    });
    return {
      provides: { sessions, throttle } satisfies SessionDomain,
      identities: {
        bySession: (secret, address) => sessions.find(secret, address),
        isSetup: (secret) => sessions.isSetup(secret),
      },
      handlers: sessionRoutes({
        ...{ ...parts, sessions, throttle, cookies: { secure: config.secureCookies }, wait },
        lockedOut: (account, address) => {
          const args = { account, address, attempts: FREE_GUESSES, at: iso(clock.now()) };
          alerts.raise({ kind: signInLocked, args });
        },
      }),
    };
  },
});
