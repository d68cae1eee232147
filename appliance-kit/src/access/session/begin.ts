// Beginning a session: the cookies, and what the page is told.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { iso } from '../../base/clock.ts';
import type { Caller } from '../../http/gate/caller.ts';
import { browserCookie, type CookiePolicy, readCookie, sessionCookie, setCookie } from '../../http/gate/cookies.ts';
import type { Factors } from '../factors/index.ts';
import type { Account, Users } from '../users/index.ts';
import type { Session } from './schema.ts';
import type { From, Sessions } from './sessions.ts';

const LONGEST_BROWSER = 200;

export function from(request: FastifyRequest, caller: Caller): From {
  return { address: caller.address, browser: request.headers['user-agent']?.slice(0, LONGEST_BROWSER) ?? null };
}

export interface BeginSession {
  (user: Account, request: FastifyRequest, reply: FastifyReply, caller: Caller): Session;
  describe(user: Account, expiresAt: number): Session;
}

export function beginSession(parts: {
  users: Users;
  factors: Factors;
  sessions: Sessions;
  cookies: CookiePolicy;
}): BeginSession {
  const { users, factors, sessions, cookies } = parts;

  const kindOf = ({ provider }: Account) => (provider === null ? null : users.external.kindOf(provider));

  const describe = (user: Account, expiresAt: number): Session => {
    const kind = kindOf(user);
    return {
      user: { name: user.name, role: user.role },
      expiresAt: iso(expiresAt),
      ...(user.provider !== null && kind !== null && { provider: { id: user.provider, kind } }),
      ...(factors.has(user.name) && { secondFactor: true }),
      ...(factors.hasApp(user.name) && { app: true }),
      ...(factors.hasPasskey(user.name) && { passkey: true }),
      ...(kind !== 'oidc' && factors.mustAdd(user.name, user.role) && { mustAddFactor: true }),
      ...(user.oneTime && { mustChangePassword: true }),
    };
  };

  const begin = (user: Account, request: FastifyRequest, reply: FastifyReply, caller: Caller): Session => {
    const { secret, expiresAt } = sessions.create(user.name, from(request, caller), kindOf(user) ?? 'here');
    setCookie(reply, cookies, sessionCookie(cookies), secret);
    const known = sessions.rememberBrowser(user.name, readCookie(request, browserCookie(cookies)));
    setCookie(reply, cookies, browserCookie(cookies), known, 90 * 24 * 3600);
    return describe(user, expiresAt);
  };
  return Object.assign(begin, { describe });
}
