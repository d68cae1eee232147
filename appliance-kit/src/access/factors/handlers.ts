// Adding and removing one's own factors, clearing those of others, and from when on administrators need one.

import type { FastifyRequest } from 'fastify';
import { iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import type { Caller } from '../../http/gate/caller.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Database } from '../../state/database.ts';
import type { Audit } from '../audit/index.ts';
import type { Dependent, Users } from '../users/index.ts';
import type { Factors, Finished } from './factors.ts';
import { type Passkeys, siteOf } from './passkeys.ts';
import type { routes } from './routes.ts';
import type { SecondFactorPolicy } from './schema.ts';
import { mayDemand } from './settings-part.ts';
import { base32, otpauth } from './totp.ts';

export interface FactorRoutesParts {
  readonly db: Database;
  readonly platform: Platform;
  readonly users: Users;
  readonly factors: Factors;
  readonly passkeys: Passkeys;
  readonly secureCookies: boolean;
  readonly audit: Audit;
  readonly changes: Changes;
  readonly dependents: readonly Dependent[];
  readonly hostName: () => string;
}

export function factorRoutes(parts: FactorRoutesParts): Handlers<typeof routes> {
  const { db, platform, users, factors, passkeys, audit, changes, dependents } = parts;
  const site = (request: FastifyRequest) => siteOf(request.headers.host, parts.secureCookies);

  const added = (finished: Finished, caller: Caller) => {
    // Who signed in elsewhere before, with the password alone, is out.
    if (finished.recoveryCodes !== null) for (const one of dependents) one.ended(caller.name, caller.session?.id);
    const { name, kind } = finished.factor;
    audit.record(caller, 'factor.add', caller.name, null, { name, kind });
    changes.publish('users');
    return finished;
  };

  /** Codes are of a moment: with a wrong clock nobody would get in again. */
  const clockMustBeRight = async () => {
    const time = await platform.machine.timeSource().catch(() => null);
    if (time?.running && time.synchronised) return;
    const why = time === null ? 'It is not known whether the clock' : 'The clock';
    throw fail(
      'conflict',
      `${why} of the appliance is ${time === null ? '' : 'not '}synchronised: the codes of an app would not fit its time.`,
      'Make sure that the appliance reaches a time server; Maintenance → Hardware shows its clock. Then try again.',
    );
  };

  const readPolicy = ({ requiredFrom }: SecondFactorPolicy) => ({
    requiredFrom,
    administratorsWithout: users
      .list()
      .filter(({ role, disabled, secondFactor }) => role === 'administrator' && !disabled && !secondFactor)
      .map(({ name }) => name),
  });

  return {
    listFactors: ({ caller: { name } }) => ({
      items: factors.list(name),
      recoveryCodesLeft: factors.recoveryCodesLeft(name),
    }),

    startFactor: async ({ body, caller: { name } }) => {
      await clockMustBeRight();
      const { id, seed, until } = factors.start(name, body.name);
      const url = otpauth(seed, `Cistern ${parts.hostName()}`, name);
      return { id, secret: base32(seed), url, until: iso(until) };
    },

    finishFactor: async ({ params: { id }, body, caller }) => {
      await clockMustBeRight();
      return db.transaction(() => added(factors.finish(caller.name, id, body.code), caller));
    },

    startPasskey: async ({ body, caller: { name }, request }) => {
      factors.mayAdd(name, body.name);
      return { publicKey: { ...(await passkeys.startAdding(name, site(request), parts.hostName())) } };
    },

    finishPasskey: async ({ body, caller, request }) =>
      added(await factors.addPasskey(caller.name, body, site(request)), caller),

    startPasskeyUse: async ({ query, caller, request }) => {
      if (query.for === 'sign-in') return { publicKey: { ...(await passkeys.startUsing(null, site(request))) } };
      if (caller.session === undefined) throw fail('unauthenticated', 'You are not signed in.', 'Sign in.');
      if (!factors.hasPasskey(caller.name)) throw fail('conflict', 'You have no passkey.', 'Give your password.');
      return { publicKey: { ...(await passkeys.startUsing(caller.name, site(request))) } };
    },

    removeFactor: ({ params: { id }, caller }) =>
      db.transaction(() => {
        const role = users.get(caller.name).role;
        const { name, kind } = factors.remove(caller.name, role, id);
        audit.record(caller, 'factor.remove', caller.name, { name, kind });
        changes.publish('users');
        return undefined;
      }),

    createRecoveryCodes: ({ caller }) =>
      db.transaction(() => {
        if (!factors.has(caller.name)) {
          throw fail('conflict', 'You have no second factor that a recovery code could stand for.', 'Add one first.');
        }
        const codes = factors.makeRecoveryCodes(caller.name);
        audit.record(caller, 'recovery-codes.create', caller.name);
        changes.publish('users');
        return { codes };
      }),

    clearFactors: ({ params: { name }, caller }) =>
      db.transaction(() => {
        users.get(name);
        if (name === caller.name && caller.session !== undefined) {
          throw fail('conflict', 'These are your own.', 'Remove them in your profile.');
        }
        const cleared = factors.clear(name);
        for (const one of dependents) one.ended(name);
        audit.record(caller, 'factor.clear', name, { factors: cleared });
        changes.publish('users');
        return undefined;
      }),

    getSecondFactorPolicy: () => readPolicy(factors.policy()),

    setSecondFactorPolicy: ({ body, caller }) => {
      mayDemand(body, caller, factors);
      factors.changePolicy(body, caller, audit);
      changes.publish('users');
      return readPolicy(factors.policy());
    },
  };
}
