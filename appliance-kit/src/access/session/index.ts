// Signing in and out.

import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import { iso } from '../../base/clock.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import type { AuditDomain } from '../audit/index.ts';
import type { UsersDomain } from '../users/index.ts';
import { alertClasses, signInLocked } from './alerts.ts';
import { sessionRoutes } from './handlers.ts';
import { Lockout, MAX_FAILURES } from './lockout.ts';
import { migrations } from './migrations.ts';
import { routes } from './routes.ts';
import { Sessions } from './sessions.ts';

export type { Lockout } from './lockout.ts';
export { hashPassword } from './passwords.ts';
export { Session } from './schema.ts';
export { type Sessions, secretHash } from './sessions.ts';

export interface SessionDomain {
  readonly sessions: Sessions;
  readonly lockout: Lockout;
}

export const sessionDomain = domain({
  name: 'access/session',
  routes,
  alertClasses,
  migrations,
  create: ({ db, clock, config, audit, users, alerts }: Kernel & AuditDomain & UsersDomain & AlertsDomain) => {
    const sessions = new Sessions(db, clock);
    const lockout = new Lockout(db, clock);
    return {
      provides: { sessions, lockout } satisfies SessionDomain,
      identities: {
        bySession: (secret) => sessions.find(secret),
        isSetup: (secret) => sessions.isSetup(secret),
      },
      handlers: sessionRoutes({
        ...{ db, users, sessions, lockout, audit, cookies: { secure: config.secureCookies } },
        lockedOut: (account, address) => {
          const args = { account, address, attempts: MAX_FAILURES, at: iso(clock.now()) };
          alerts.raise({ kind: signInLocked, args });
        },
      }),
    };
  },
});
