// Signing in and out.

import { setTimeout as wait } from 'node:timers/promises';
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import { iso } from '../../base/clock.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import type { Role } from '../../http/gate/roles.ts';
import type { AuditDomain } from '../audit/index.ts';
import type { FactorsDomain } from '../factors/index.ts';
import type { UsersDomain } from '../users/index.ts';
import { alertClasses, signInLocked } from './alerts.ts';
import { type BeginSession, beginSession } from './begin.ts';
import { sessionRoutes } from './handlers.ts';
import { migrations } from './migrations.ts';
import { placesSigner } from './places.ts';
import { routes } from './routes.ts';
import { Sessions } from './sessions.ts';
import { settings } from './settings.ts';
import { sessionLifetimePart } from './settings-part.ts';
import { FREE_GUESSES, Throttle } from './throttle.ts';

export { type BeginSession, from } from './begin.ts';
export { Session } from './schema.ts';
export { EXTERNAL_HOURS, type From, type Sessions, secretHash } from './sessions.ts';
export type { Throttle } from './throttle.ts';

export interface SessionDomain {
  readonly sessions: Sessions;
  readonly throttle: Throttle;
  readonly beginSession: BeginSession;
}

export const sessionDomain = domain({
  name: 'access/session',
  routes,
  alertClasses,
  settings,
  migrations,
  create: (parts: Kernel & AuditDomain & UsersDomain & FactorsDomain & AlertsDomain) => {
    const { db, clock, config, alerts, factors, users, dependentsOnUsers } = parts;
    const mustAddFactor = (user: string, role: Role) => {
      const provider = users.find(user)?.provider ?? null;
      // OpenID providers ask for factors of their own.
      return factors.mustAdd(user, role) && (provider === null || users.external.kindOf(provider) !== 'oidc');
    };
    const sessions = new Sessions(db, clock, parts.settings, mustAddFactor, placesSigner(config.placesFile));
    const cookies = { secure: config.secureCookies };
    const begin = beginSession({ users, factors, sessions, cookies });
    const throttle = new Throttle(clock, db);
    dependentsOnUsers.push({
      ended: (name, except) => {
        sessions.endOf(name, except);
        if (except === undefined) sessions.forgetBrowsers(name);
      },
    });
    const handlers = sessionRoutes({
      ...{ ...parts, sessions, throttle, cookies, wait, begin },
      lockedOut: (account, address) => {
        const args = { account, address, attempts: FREE_GUESSES, at: iso(clock.now()) };
        alerts.raise({ kind: signInLocked, args });
      },
    });
    return {
      provides: { sessions, throttle, beginSession: begin } satisfies SessionDomain,
      identities: {
        bySession: (secret, address) => sessions.find(secret, address),
        isSetup: (secret) => sessions.isSetup(secret),
      },
      handlers,
      settingsParts: [sessionLifetimePart(sessions, handlers)],
    };
  },
});
