// Programs ask to be signed in, and those who have signed in decide.
import { iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import { type CookiePolicy, sessionCookie, setCookie } from '../../http/gate/cookies.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Database } from '../../state/database.ts';
import type { Audit } from '../audit/index.ts';
import { from, type Sessions } from '../session/index.ts';
import type { Users } from '../users/index.ts';
import type { routes } from './routes.ts';
import { COLLECT_EVERY_SECONDS, type SignInRequests } from './sign-in-requests.ts';

export interface SignInRequestParts {
  readonly db: Database;
  readonly users: Users;
  readonly sessions: Sessions;
  readonly audit: Audit;
  readonly changes: Changes;
  readonly cookies: CookiePolicy;
  readonly requests: SignInRequests;
}

export function signInRequestRoutes(parts: SignInRequestParts): Handlers<typeof routes> {
  const { db, users, sessions, audit, changes, cookies, requests } = parts;
  return {
    startSignInRequest: ({ body, caller, request }) => {
      const { secret, code, until } = requests.start(body.program, from(request, caller));
      const path = `/sign-in-request?code=${code}`;
      return { secret, code, path, until: iso(until), collectEverySeconds: COLLECT_EVERY_SECONDS };
    },

    getSignInRequest: ({ params: { code } }) => requests.get(code),

    approveSignInRequest: ({ params: { code }, caller }) => {
      const { program, address } = requests.get(code);
      requests.decide(code, caller.name);
      audit.record(caller, 'sign-in-request.approve', caller.name, null, { program, address });
      return undefined;
    },

    refuseSignInRequest: ({ params: { code }, caller }) => {
      const { program, address } = requests.get(code);
      requests.decide(code, null);
      audit.record(caller, 'sign-in-request.refuse', caller.name, null, { program, address });
      return undefined;
    },

    collectSignIn: ({ body, caller, request, reply }) => {
      const decided = requests.collect(body.secret);
      if (decided === 'waiting') return { state: 'waiting' as const };
      const { by: name } = decided;
      if (name === null) return { state: 'refused' as const };
      const user = users.find(name);
      if (user === undefined || user.disabled)
        throw fail('account_disabled', `The account ${name} is disabled.`, 'Ask an administrator to enable it.');
      return db.transaction(() => {
        const { secret } = sessions.create(name, from(request, caller), user.provider === null ? 'here' : 'ldap');
        setCookie(reply, cookies, sessionCookie(cookies), secret);
        users.signedIn(name);
        audit.record({ ...caller, name }, 'session.create', name, null, { by: 'link' });
        changes.publish('users');
        return { state: 'approved' as const, user: name };
      });
    },
  };
}
