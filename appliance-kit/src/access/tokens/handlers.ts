// Making, changing and withdrawing API tokens: one's own, and for administrators all.

import { type Clock, iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import { atLeast, type Caller } from '../../http/gate/caller.ts';
import type { Role } from '../../http/gate/roles.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Database } from '../../state/database.ts';
import type { Audit } from '../audit/index.ts';
import type { Users } from '../users/index.ts';
import { networkProblem } from './networks.ts';
import type { routes } from './routes.ts';
import type { Token } from './schema.ts';
import { DEFAULT_DAYS, type Tokens, withinRole } from './tokens.ts';

export interface TokenParts {
  readonly tokens: Tokens;
  readonly users: Users;
  readonly db: Database;
  readonly clock: Clock;
  readonly audit: Audit;
}

function checkNetworks(networks: readonly string[]): void {
  const errors = networks.flatMap((text, at) => {
    const problem = networkProblem(text);
    return problem === null ? [] : [{ path: `/networks/${at}`, message: problem }];
  });
  if (errors.length === 0) return;
  const words = errors.map(({ path, message }) => `“${networks[Number(path.split('/')[2])]}” ${message}.`).join(' ');
  throw fail('invalid_request', words, undefined, errors);
}

export function tokenRoutes({ tokens, users, db, clock, audit }: TokenParts): Handlers<typeof routes> {
  /** A token that the caller may see; another one is as if it were not there. */
  const visible = (id: string, caller: Caller): Token => {
    const token = tokens.mustFind(id);
    const may = atLeast(caller.role, 'administrator') || (caller.session !== undefined && token.owner === caller.name);
    if (!may) throw fail('not_found', `There is no token ${id}.`);
    return token;
  };
  /** A token made by a token belongs to whom that one belongs to. */
  const ownerOf = (caller: Caller) => (caller.session === undefined ? (caller.owner ?? null) : caller.name);

  return {
    listTokens: ({ caller }) => {
      if (atLeast(caller.role, 'administrator')) return { items: tokens.list(null) };
      return { items: caller.session === undefined ? [] : tokens.list(caller.name) };
    },
    getToken: ({ params, caller }) => visible(params.id, caller),

    createToken: ({ body, caller }) => {
      const { name, role, expiresInDays = DEFAULT_DAYS, networks = [] } = body;
      checkNetworks(networks);
      if (caller.session === undefined && !atLeast(caller.role, 'administrator')) {
        throw fail('forbidden', 'A token makes no other token, unless it is an administrator’s.');
      }
      if (withinRole(role, caller.role as Role) !== role) {
        throw fail('forbidden', `${caller.name} is ${caller.role} and cannot make a token that is ${role}.`, undefined);
      }
      return db.transaction(() => {
        const token = tokens.create(name, role, ownerOf(caller), expiresInDays, networks);
        audit.record(caller, 'token.create', name, null, token);
        return token;
      });
    },

    changeToken: ({ params, body, caller }) => {
      checkNetworks(body.networks);
      return db.transaction(() => {
        const before = visible(params.id, caller);
        const expiresAt = body.expiresAt === null ? null : Date.parse(body.expiresAt);
        if (expiresAt !== null && expiresAt <= clock.now()) {
          const message = `${iso(expiresAt)} is over; to withdraw the token, delete it`;
          throw fail('invalid_request', `${message}.`, undefined, [{ path: '/expiresAt', message }]);
        }
        if (body.owner !== before.owner) {
          if (!atLeast(caller.role, 'administrator')) {
            throw fail('forbidden', 'Only an administrator hands a token over to somebody else.');
          }
          if (body.owner !== null) users.get(body.owner);
        }
        tokens.change(before.id, body.name, body.owner, body.networks, expiresAt);
        const after = tokens.mustFind(before.id);
        audit.record(caller, 'token.update', before.name, before, after);
        return after;
      });
    },

    deleteToken: ({ params, caller }) =>
      db.transaction(() => {
        const gone = visible(params.id, caller);
        tokens.remove(gone.id);
        audit.record(caller, 'token.delete', gone.name, gone, null);
        return undefined;
      }),
  };
}
