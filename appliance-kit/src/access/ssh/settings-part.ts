// Public keys of this appliance's users, as a part of the settings document, by their fingerprints, of which there are no two.
// Whether ssh is on is no part: that always ends by itself.
import { fail } from '../../base/problems/problem.ts';
import { closed, Line, Type } from '../../base/schema/schema.ts';
import { asked, LeftOut, manyPart } from '../../domain/settings-part.ts';
import type { Caller } from '../../http/gate/caller.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Users } from '../users/index.ts';
import type { Access } from './access.ts';
import type { Keys } from './keys.ts';
import type { routes } from './routes.ts';

const KeptKey = closed({
  user: Line({ maxLength: 64 }),
  key: Type.String({ maxLength: 16_384, description: 'its kind and its content, as a .pub file has them' }),
  comment: Type.String({ maxLength: 200 }),
});

export function sshKeysPart(parts: {
  users: Users;
  keys: Keys;
  access: Access;
  available: boolean;
  add: (user: string, line: string, by: Caller) => Promise<unknown>;
  handlers: Handlers<typeof routes>;
}) {
  const { users, keys, access, available, add, handlers } = parts;
  const remove = (fingerprint: string, caller: Caller) => {
    const id = keys.list().find((one) => one.fingerprint === fingerprint)?.id ?? '';
    return asked(handlers.removeSshKey, { params: { id }, caller });
  };
  const create = (_: string, { user, key, comment }: { user: string; key: string; comment: string }, by: Caller) =>
    add(user, `${key} ${comment}`.trim(), by);
  return manyPart({
    ...{ name: 'ssh-keys', title: 'Keys for ssh', version: 1, schema: KeptKey },
    covers: ['addSshKey', 'removeSshKey'],
    after: ['users'],
    keys: /^SHA256:[A-Za-z0-9+/]{43}$/,
    refersTo: ({ user }) => [{ part: 'users', key: user, path: '/user' }],
    read: () =>
      Object.fromEntries(
        keys
          .kept()
          .filter(({ user }) => users.find(user)?.provider === null)
          .map(({ fingerprint, ...rest }) => [fingerprint, rest]),
      ),
    check: async (fingerprint, { key, comment }) => {
      if (!available) throw new LeftOut('cannot be used on this system, which has no account for users by ssh');
      const read = await access.platform().checkKey(`${key} ${comment}`.trim());
      if (read.fingerprint === fingerprint) return;
      const message = `is the key of ${read.fingerprint}`;
      throw fail('invalid_request', `The key ${message}.`, undefined, [{ path: '/key', message }]);
    },
    create,
    update: async (fingerprint, given, by) => {
      await remove(fingerprint, by);
      await create(fingerprint, given, by);
    },
    remove,
  });
}
