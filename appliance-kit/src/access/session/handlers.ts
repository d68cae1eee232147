// Signing in and out.

import { iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import { type CookiePolicy, dropCookie, readCookie, SESSION_COOKIE, setCookie } from '../../http/gate/cookies.ts';
import type { Role } from '../../http/gate/roles.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Database } from '../../state/database.ts';
import type { Audit } from '../audit/index.ts';
import type { Users } from '../users/index.ts';
import type { Lockout } from './lockout.ts';
import { TooManyAtOnce, verifyPassword } from './passwords.ts';
import type { routes } from './routes.ts';
import type { Sessions } from './sessions.ts';

export interface SessionParts {
  readonly db: Database;
  readonly users: Users;
  readonly sessions: Sessions;
  readonly lockout: Lockout;
  /** Too many wrong passwords. */
  readonly lockedOut: (account: string, address: string) => void;
  readonly audit: Audit;
  readonly cookies: CookiePolicy;
}

export function sessionRoutes(parts: SessionParts): Handlers<typeof routes> {
  const { db, users, sessions, lockout, audit, cookies } = parts;
  return {
    getSession: ({ caller }) =>
      caller.by === 'cookie'
        ? { user: { name: caller.name, role: caller.role as Role }, expiresAt: iso(caller.expiresAt ?? 0) }
        : { user: null },

    signIn: async ({ body, caller, reply }) => {
      const { user: name, password } = body;
      const last = lockout.attempt('password', name, caller.address);
      const user = users.find(name);
      const right = await verifyPassword(password, user?.passwordHash).catch((error: unknown) => {
        if (error instanceof TooManyAtOnce)
          throw fail('too_many', 'Too many sign-ins at a time.', 'Try again shortly.');
        throw error;
      });
      if (!right || user === undefined) {
        audit.record(caller, 'session.refused', name);
        if (last) parts.lockedOut(name, caller.address);
        throw fail('wrong_credentials', 'The name or the password is wrong.', 'Check both and try again.');
      }
      return db.transaction(() => {
        lockout.succeeded('password', name, caller.address);
        users.signedIn(name);
        const { secret, expiresAt } = sessions.create(name);
        audit.record({ ...caller, name }, 'session.create', name);
        setCookie(reply, cookies, SESSION_COOKIE, secret);
        return { user: { name, role: user.role }, expiresAt: iso(expiresAt) };
      });
    },

    signOut: ({ request, reply, caller }) => {
      const secret = readCookie(request, SESSION_COOKIE);
      if (secret !== undefined && caller.by === 'cookie') {
        db.transaction(() => {
          sessions.end(secret);
          audit.record(caller, 'session.end', caller.name);
        });
      }
      dropCookie(reply, cookies, SESSION_COOKIE);
      return undefined;
    },
  };
}
