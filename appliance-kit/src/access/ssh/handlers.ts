// Keys for ssh, and whether it is on.
import { fail } from '../../base/problems/problem.ts';
import type { Caller } from '../../http/gate/caller.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Database } from '../../state/database.ts';
import type { Audit } from '../audit/index.ts';
import type { Access } from './access.ts';
import type { Keys } from './keys.ts';
import type { routes } from './routes.ts';
import type { Visits } from './visits.ts';

export interface SshRoutesParts {
  db: Database;
  audit: Audit;
  changes: Changes;
  keys: Keys;
  access: Access;
  visits: Visits;
}

/** Adds a user's key, on whosever behalf. */
export const keyAdder =
  ({ db, audit, changes, keys, access }: SshRoutesParts) =>
  async (user: string, line: string, by: Caller) => {
    keys.mayAdd(user);
    const read = await access.platform().checkKey(line);
    const added = db.transaction(() => {
      const key = keys.add(user, read);
      const { kind, fingerprint, comment } = key;
      audit.record(by, 'ssh-key.add', user, null, { kind, fingerprint, comment });
      return key;
    });
    changes.publish('ssh');
    await access.follow();
    return added;
  };

export function sshRoutes(parts: SshRoutesParts, add: ReturnType<typeof keyAdder>): Handlers<typeof routes> {
  const { db, audit, changes, keys, access, visits } = parts;
  return {
    listSshKeys: ({ query, caller }) => {
      if (query.of !== 'everyone') return { items: caller.session === undefined ? [] : keys.list(caller.name) };
      if (caller.role === 'administrator') return { items: keys.list() };
      throw fail('forbidden', 'Only administrators see the keys of all users.');
    },

    addSshKey: ({ body, caller }) => add(caller.name, body.key, caller),

    removeSshKey: async ({ params: { id }, caller }) => {
      db.transaction(() => {
        const key = keys.list().find((one) => one.id === id);
        const may = caller.role === 'administrator' || (caller.session !== undefined && key?.user === caller.name);
        if (key === undefined || !may) throw fail('not_found', `There is no key ${id}.`);
        const { user, kind, fingerprint, comment } = key;
        keys.remove(id);
        audit.record(caller, 'ssh-key.remove', user, { kind, fingerprint, comment });
      });
      changes.publish('ssh');
      await access.follow();
      return undefined;
    },

    getSshAccess: () => access.get(),
    setSshAccess: ({ body, caller }) => {
      // Before anybody can come in: the first may be here before the log is read for the first time.
      if (body.enabledUntil !== null) visits.on();
      return access.set(body, caller);
    },
  };
}
