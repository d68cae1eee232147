// Adding users, changing them, and what their roles may do.

import { fail } from '../../base/problems/problem.ts';
import { atLeast } from '../../http/gate/caller.ts';
import { TOKEN_ROLES } from '../../http/gate/roles.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Routes } from '../../http/routes.ts';
import type { Database } from '../../state/database.ts';
import type { Audit } from '../audit/index.ts';
import { hashPassword } from './passwords.ts';
import type { routes } from './routes.ts';
import type { RoleDescription } from './schema.ts';
import { isUserName, NAME_RULE, readableSecret, type Users } from './users.ts';

/** What depends on who a user is, in domains after this one: sessions and tokens. */
export interface Dependent {
  /**
   * The user may no longer sign in, or not with what was enough before.
   * @param except the session of the user's own that goes on
   */
  ended(name: string, except?: string): void;
  /** The user will be deleted, and `to` gets what can be handed over. */
  handedOver?(name: string, to: string): void;
}

export interface UserParts {
  readonly db: Database;
  readonly users: Users;
  readonly audit: Audit;
  readonly changes: Changes;
  readonly dependents: readonly Dependent[];
  readonly allRoutes: () => readonly Routes[];
}

export function userRoutes(parts: UserParts): Handlers<typeof routes> {
  const { db, users, audit, changes, dependents } = parts;
  const ended = (name: string) => {
    for (const one of dependents) one.ended(name);
  };
  return {
    listUsers: () => ({ items: users.list() }),
    getUser: ({ params }) => users.get(params.name),

    createUser: async ({ body, caller }) => {
      const { name, role } = body;
      if (!isUserName(name)) {
        throw fail('invalid_request', `The name ${NAME_RULE}.`, undefined, [{ path: '/name', message: NAME_RULE }]);
      }
      const password = readableSecret();
      const hash = await hashPassword(password);
      return db.transaction(() => {
        if (users.find(name) !== undefined) {
          throw fail('conflict', `There is a user ${name} already.`, 'Choose another name.', [
            { path: '/name', message: 'is in use' },
          ]);
        }
        users.create(name, role, hash, true);
        audit.record(caller, 'user.create', name, null, { name, role });
        changes.publish('users');
        return { user: users.get(name), password };
      });
    },

    changeUser: ({ params: { name }, body, caller }) =>
      db.transaction(() => {
        const before = users.get(name);
        if (body.disabled || body.role !== 'administrator') {
          users.mustNotBeTheLast(name, body.disabled ? 'disabled' : `made ${body.role}`);
        }
        users.change(name, body.role, body.disabled);
        if (body.disabled) ended(name);
        audit.record(caller, 'user.update', name, { role: before.role, disabled: before.disabled }, body);
        changes.publish('users');
        return users.get(name);
      }),

    deleteUser: ({ params: { name }, query: { tokensTo }, caller }) =>
      db.transaction(() => {
        const before = users.get(name);
        users.mustNotBeTheLast(name, 'deleted');
        if (tokensTo !== undefined) {
          if (tokensTo === name || users.find(tokensTo) === undefined) {
            throw fail('invalid_request', `There is no other user ${tokensTo} who could get the tokens of ${name}.`);
          }
          for (const one of dependents) one.handedOver?.(name, tokensTo);
        }
        ended(name);
        users.remove(name);
        audit.record(caller, 'user.delete', name, before, tokensTo === undefined ? null : { tokensTo });
        changes.publish('users');
        return undefined;
      }),

    resetPassword: async ({ params: { name }, caller }) => {
      if (users.get(name).provider !== null) {
        throw fail('conflict', `${name} has no password here.`, 'It is changed where the user comes from.');
      }
      const password = readableSecret();
      const hash = await hashPassword(password);
      return db.transaction(() => {
        users.setPassword(name, hash, true);
        ended(name);
        audit.record(caller, 'user.reset-password', name);
        changes.publish('users');
        return { user: users.get(name), password };
      });
    },

    listRoles: () => ({ items: describeRoles(parts.allRoutes()) }),
  };
}

/** What each role may do that the one below it may not, from the routes' own declarations. */
function describeRoles(all: readonly Routes[]): RoleDescription[] {
  const ascending = [...TOKEN_ROLES].sort((a, b) => (atLeast(a, b) ? 1 : -1));
  const public_ = all.flatMap((routes) => Object.entries(routes)).filter(([, route]) => route.path.startsWith('/api/'));
  return ascending.map((role) => ({
    role,
    routes: public_
      .filter(([, route]) => route.access === role)
      .map(([id, route]) => ({ id, summary: route.summary, change: route.method !== 'GET' })),
  }));
}
