// Signing in and out, changing one's own password, and who is signed in.

import type { FastifyRequest } from 'fastify';
import { type Clock, iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import type { Static } from '../../base/schema/schema.ts';
import type { Caller } from '../../http/gate/caller.ts';
import { browserCookie, type CookiePolicy, dropCookie, readCookie, sessionCookie } from '../../http/gate/cookies.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Database } from '../../state/database.ts';
import type { Settings } from '../../state/settings.ts';
import type { Audit } from '../audit/index.ts';
import { type Factors, type Passkeys, siteOf, type UsedPasskey } from '../factors/index.ts';
import {
  type Account,
  hashPassword,
  isOutdated,
  passwordProblem,
  TooManyAtOnce,
  type Users,
  verifyPassword,
} from '../users/index.ts';
import type { BeginSession } from './begin.ts';
import type { routes } from './routes.ts';
import type { Sessions } from './sessions.ts';
import * as stored from './settings.ts';
import type { Throttle } from './throttle.ts';

export interface SessionParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly settings: Settings;
  readonly users: Users;
  readonly factors: Factors;
  readonly passkeys: Passkeys;
  readonly sessions: Sessions;
  readonly throttle: Throttle;
  /** Too many wrong passwords. */
  readonly lockedOut: (account: string, address: string) => void;
  readonly audit: Audit;
  readonly changes: Changes;
  readonly cookies: CookiePolicy;
  readonly platform: Platform;
  readonly hostName: () => string;
  readonly wait: (ms: number) => Promise<void>;
  readonly begin: BeginSession;
}

const accountEnded = (name: string, why: 'disabled' | 'expired') =>
  why === 'disabled'
    ? fail('account_disabled', `The account ${name} is disabled.`, 'Ask an administrator to enable it.')
    : fail('account_disabled', 'The one-time password was not used in time.', 'Ask an administrator for another one.');

/** A guess that is being looked at. */
interface Looked {
  /** The browser is known. */
  readonly known: boolean;
  right(): void;
  /** @param why as the audit log has it */
  wrong(why: string | null): void;
}

export function sessionRoutes(parts: SessionParts): Handlers<typeof routes> {
  const { begin } = parts;
  const { db, settings, users, factors, sessions, throttle, audit, changes, cookies, hostName } = parts;

  /** Looks at what was given as long as there was not too much that is wrong. `look` calls one of the guess's ends, or throws. */
  const guessed = async <T>(
    name: string,
    request: FastifyRequest,
    caller: Caller,
    look: (guess: Looked) => Promise<T>,
  ): Promise<T> => {
    const device = sessions.knownBrowser(name, readCookie(request, browserCookie(cookies)));
    const guess = throttle.begin('password', name, caller.address, device);
    try {
      if (guess.waitMs > 0) await parts.wait(guess.waitMs);
      return await look({
        known: device !== undefined,
        right: guess.right,
        wrong: (why) => {
          const last = guess.wrong();
          // What is no user's name may be a password that was typed into the wrong field.
          audit.recordRepeated(
            caller,
            'session.refused',
            users.find(name)?.name ?? 'an unknown name',
            why === null ? null : { why },
          );
          if (last) parts.lockedOut(name, caller.address);
        },
      });
    } catch (error) {
      guess.withdrawn();
      if (error instanceof TooManyAtOnce) throw fail('too_many', 'Too many sign-ins at a time.', 'Try again shortly.');
      throw error;
    }
  };

  /** Throws when it is not the user's. It does not end the guess when it is: a code may have to be looked at, too. */
  const checkPassword = async (name: string, password: string, guess: Looked): Promise<Account> => {
    const user = users.find(name);
    // Of a user whom a directory knows, the directory says it; what fails there is no guess.
    const right =
      user === undefined || user.provider === null
        ? await verifyPassword(password, user?.passwordHash, guess.known)
        : await users.external.verify(user, password);
    if (right && user !== undefined && !user.disabled && !user.expired) return users.find(name) ?? user;
    const why = !right || user === undefined ? null : user.disabled ? 'disabled' : 'expired';
    guess.wrong(why);
    // Only who knows the password is told why it does not do.
    if (why !== null) throw accountEnded(name, why);
    throw fail('wrong_credentials', 'The name or the password is wrong.', 'Check both and try again.');
  };

  const checkAtDirectory = async (
    provider: string,
    name: string,
    password: string,
    guess: Looked,
  ): Promise<Account> => {
    const user = await users.external.signIn(provider, name, password);
    if (user !== null) return user;
    guess.wrong('directory');
    throw fail('wrong_credentials', 'The name or the password is wrong.', 'Check both and try again.');
  };

  /** Throws when it is not one that may be used now. */
  const checkCode = async (name: string, code: string, recovery: boolean, guess: Looked, caller: Caller) => {
    const checked = db.transaction(() => {
      const found = factors.check(name, code, recovery);
      if (found === 'recovery-code') {
        const left = factors.recoveryCodesLeft(name);
        audit.record({ ...caller, name }, 'recovery-code.use', name, null, { at: 'sign-in', left });
        changes.publish('users');
      }
      return found;
    });
    if (checked === 'app' || checked === 'recovery-code') return;
    guess.wrong('code');
    const orRecover = recovery ? ', or a recovery code' : '';
    if (checked === 'used') {
      throw fail('wrong_code', 'This code was used before.', `Give the next one of the app${orRecover}.`);
    }
    const time = await parts.platform.machine.timeSource().catch(() => null);
    const off = time?.running && time.synchronised ? '' : ' The clock of the appliance is not synchronised.';
    throw fail('wrong_code', 'The code is wrong.', `Give the one that the app shows now${orRecover}.${off}`);
  };

  /** Whose it is. `name`: whose it has to be; null: anybody's. A signature cannot be guessed, so that nothing is counted. */
  const checkPasskey = async (
    name: string | null,
    given: Static<typeof UsedPasskey>,
    request: FastifyRequest,
    caller: Caller,
  ) => {
    try {
      return await parts.passkeys.check(name, given, siteOf(request.headers.host, cookies.secure));
    } catch (error) {
      audit.recordRepeated(caller, 'session.refused', name ?? 'an unknown name', { why: 'passkey' });
      throw error;
    }
  };

  /** Password, and code or passkey where there is a second factor. */
  const check = (
    typed: string,
    given: {
      provider?: string | undefined;
      password: string;
      code?: string | undefined;
      passkey?: Static<typeof UsedPasskey>;
      recently?: boolean;
    },
    request: FastifyRequest,
    caller: Caller,
  ): Promise<Account> =>
    guessed(typed, request, caller, async (guess) => {
      const user =
        given.provider === undefined
          ? await checkPassword(typed, given.password, guess)
          : await checkAtDirectory(given.provider, typed, given.password, guess);
      const { name } = user;
      if (factors.has(name) && given.passkey !== undefined) {
        await checkPasskey(name, given.passkey, request, caller);
      } else if (factors.has(name) && !given.recently) {
        // It stays counted: who knows the password and guesses codes gets no fresh guesses by leaving one out.
        if (given.code === undefined || given.code === '') {
          const action = factors.hasApp(name)
            ? 'Give the one that your authenticator app shows, or a recovery code.'
            : 'Give a recovery code; with your passkey you sign in without a password.';
          throw fail(
            'second_factor_required',
            'The password is right; a code is needed, too.',
            `${action} A program uses an API token, which needs none.`,
          );
        }
        await checkCode(name, given.code, true, guess, caller);
      }
      guess.right();
      return user;
    });

  const rehash = async (user: Account, password: string) => {
    if (isOutdated(user.passwordHash)) users.rehash(user.name, user.passwordHash, await hashPassword(password));
  };

  return {
    getSession: ({ caller }) => {
      const user = caller.session === undefined ? undefined : users.find(caller.name);
      if (user === undefined) return { user: null };
      return begin.describe(user, caller.session?.expiresAt ?? 0);
    },

    signIn: async ({ body, caller, request, reply }) => {
      const user = await check(body.user, body, request, caller);
      if (user.provider === null) await rehash(user, body.password);
      return db.transaction(() => {
        users.signedIn(user.name);
        const session = begin(user, request, reply, caller);
        audit.record({ ...caller, name: user.name }, 'session.create', user.name);
        changes.publish('users');
        return session;
      });
    },

    signInByPasskey: async ({ body, caller, request, reply }) => {
      const { user: name, name: passkey } = await checkPasskey(null, body, request, caller);
      const user = users.find(name);
      if (user === undefined || user.disabled || user.expired) {
        const why = user?.expired ? 'expired' : 'disabled';
        audit.recordRepeated(caller, 'session.refused', name, { why });
        throw accountEnded(name, why);
      }
      return db.transaction(() => {
        users.signedIn(name);
        const session = begin(user, request, reply, caller);
        audit.record({ ...caller, name }, 'session.create', name, null, { passkey });
        changes.publish('users');
        return session;
      });
    },

    signOut: ({ request, reply, caller }) => {
      const secret = readCookie(request, sessionCookie(cookies));
      if (secret !== undefined && caller.session !== undefined) {
        db.transaction(() => {
          sessions.end(secret);
          audit.record(caller, 'session.end', caller.name);
        });
      }
      dropCookie(reply, cookies, sessionCookie(cookies));
      return undefined;
    },

    confirmSession: async ({ body, caller, request }) => {
      const id = caller.session?.id as string;
      const { password, code, passkey } = body;
      if ([password, code, passkey].filter((one) => one !== undefined).length !== 1) {
        throw fail(
          'invalid_request',
          'A confirmation takes one of three: the password, a code of the authenticator app, or a passkey.',
        );
      }
      if (passkey !== undefined) await checkPasskey(caller.name, passkey, request, caller);
      else
        await guessed(caller.name, request, caller, async (guess) => {
          if (password !== undefined) await checkPassword(caller.name, password, guess);
          // A recovery code is for who has lost the app, and knows the password.
          else await checkCode(caller.name, code as string, false, guess, caller);
          guess.right();
        });
      return db.transaction(() => {
        audit.record(caller, 'session.confirm', caller.name);
        return { until: iso(sessions.confirm(id)) };
      });
    },

    changePassword: async ({ body, caller, request, reply }) => {
      if (users.get(caller.name).provider !== null) {
        throw fail('conflict', 'You have no password here.', 'Change it where you sign in: in the directory.');
      }
      const { currentPassword: password, code, passkey } = body;
      // A code is good once: who has just signed in by a one-time password and a code is not asked for the next one.
      const recently = caller.session?.mustChangePassword === true && caller.session.confirmedUntil > parts.clock.now();
      const user = await check(caller.name, { password, code, recently, ...(passkey && { passkey }) }, request, caller);
      if (body.newPassword === body.currentPassword) {
        throw fail('invalid_request', 'The new password is the present one.', undefined, [
          { path: '/newPassword', message: 'must be another one' },
        ]);
      }
      const weakness = await passwordProblem(body.newPassword, [user.name, hostName()]);
      if (weakness !== null) {
        const errors = [{ path: '/newPassword', message: weakness }];
        throw fail('invalid_request', `The password ${weakness}.`, undefined, errors);
      }
      const hash = await hashPassword(body.newPassword);
      return db.transaction(() => {
        users.setPassword(user.name, hash, false);
        sessions.endOf(user.name);
        sessions.forgetBrowsers(user.name);
        audit.record(caller, 'user.change-password', user.name);
        changes.publish('users');
        return begin({ ...user, oneTime: false }, request, reply, caller);
      });
    },

    listSessions: ({ query, caller }) => {
      if (query.of === 'everyone' && caller.role !== 'administrator') {
        throw fail('forbidden', 'Only administrators see the sessions of all users.');
      }
      if (query.of === 'everyone') return { items: sessions.list(null, caller.session?.id) };
      return { items: caller.session === undefined ? [] : sessions.list(caller.name, caller.session.id) };
    },

    endSession: ({ params: { id }, caller }) =>
      db.transaction(() => {
        const session = sessions.list(null, undefined).find((one) => one.id === id);
        const may = caller.role === 'administrator' || (caller.session !== undefined && session?.user === caller.name);
        if (session === undefined || !may) throw fail('not_found', `There is no session ${id}.`);
        sessions.endById(id);
        audit.record(caller, 'session.end', session.user);
        changes.publish('users');
        return undefined;
      }),

    endSessions: ({ body, caller }) =>
      db.transaction(() => {
        const user = body.user ?? (caller.session && caller.name);
        if (user === undefined) {
          const message = 'must say whose; a token has no sessions of its own';
          throw fail('invalid_request', `The request ${message}.`, undefined, [{ path: '/user', message }]);
        }
        if (user !== caller.name || caller.session === undefined) {
          if (caller.role !== 'administrator')
            throw fail('forbidden', 'Only administrators end the sessions of others.');
          users.get(user);
        }
        const ended = sessions.endOf(user, caller.session?.id);
        audit.record(caller, 'session.end-all', user, null, { ended });
        changes.publish('users');
        return undefined;
      }),

    getSessionLifetime: () => sessions.lifetime(),
    setSessionLifetime: ({ body, caller }) =>
      db.transaction(() => {
        audit.record(caller, 'session-lifetime.set', 'sessions', sessions.lifetime(), body);
        settings.set(stored.lifetime, body);
        return body;
      }),
  };
}
