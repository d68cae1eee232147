// The users of this appliance as a part of the settings document, by their names, which do not change. Those of identity
// providers appear by themselves and are not in it; nor are second factors, which belong to people and their devices.
import { fail } from '../../base/problems/problem.ts';
import { closed, type Static, Type } from '../../base/schema/schema.ts';
import { asked, manyPart } from '../../domain/settings-part.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { UserParts } from './handlers.ts';
import { hashPassword, isPasswordHash } from './passwords.ts';
import type { routes } from './routes.ts';
import { UserChange } from './schema.ts';
import { isUserName, NAME_RULE, readableSecret } from './users.ts';

const KeptUser = closed({
  ...UserChange.properties,
  passwordHash: Type.Optional(
    Type.String({ maxLength: 500, writeOnly: true, description: 'argon2id, as PHC writes it' }),
  ),
});
type KeptUser = Static<typeof KeptUser>;

export function usersPart(parts: UserParts & { handlers: Handlers<typeof routes> }) {
  const { db, users, audit, changes, dependents, handlers } = parts;
  const ended = (name: string) => {
    for (const one of dependents) one.ended(name);
  };
  const own = () => users.list().filter(({ provider }) => provider === null);
  return manyPart({
    ...{ name: 'users', title: 'Users', version: 1, schema: KeptUser },
    covers: ['createUser', 'changeUser', 'deleteUser', 'createAdministrator'],
    credentials: ['/passwordHash'],
    keys: /^[a-z][a-z0-9._-]{0,31}$/,
    // With a user go the second factors, the keys and the tokens.
    removedLast: true,
    normalise: (user) => {
      if (user.passwordHash === undefined || isPasswordHash(user.passwordHash)) return user;
      const message = 'is no hash of a password as the appliance keeps it';
      throw fail('invalid_request', `The hash ${message}.`, undefined, [{ path: '/passwordHash', message }]);
    },
    read: () =>
      Object.fromEntries(
        own().map(({ name, role, disabled, password }): [string, KeptUser] => {
          // A one-time password is for one person, once.
          const passwordHash = password === 'own' ? users.find(name)?.passwordHash : undefined;
          return [name, { role, disabled, ...(passwordHash !== undefined && { passwordHash }) }];
        }),
      ),
    check: (name) => {
      if (!isUserName(name)) throw fail('invalid_request', `The name ${NAME_RULE}.`);
      if (users.find(name)?.provider) throw fail('conflict', `${name} is a user of an identity provider here.`);
    },
    checkAll: (wanted, by) => {
      const signsIn = ([name, user]: [string, KeptUser]) =>
        user.role === 'administrator' &&
        !user.disabled &&
        (user.passwordHash !== undefined || own().some((one) => one.name === name && one.password === 'one-time'));
      if (!Object.entries(wanted).some(signsIn)) {
        return [
          {
            path: '',
            message: 'has no administrator who could sign in: one needs a password, and must not be disabled',
          },
        ];
      }
      const self = wanted[by.name];
      const isOwn = by.session !== undefined && own().some(({ name }) => name === by.name);
      if (isOwn && (self === undefined || self.disabled || self.role !== 'administrator')) {
        const message =
          'is you, who would no longer be an administrator: let another administrator apply it, or leave the part out';
        return [{ path: `/${by.name}`, message }];
      }
      return [];
    },
    create: async (name, { role, disabled, passwordHash }, by) => {
      // Without a password nobody knows it, and an administrator resets it.
      const hash = passwordHash ?? (await hashPassword(readableSecret()));
      db.transaction(() => {
        users.create(name, role, hash, passwordHash === undefined);
        if (disabled) users.change(name, role, true);
        audit.record(by, 'user.create', name, null, { name, role, disabled });
        changes.publish('users');
      });
    },
    update: (name, { role, disabled, passwordHash }, by) =>
      db.transaction(() => {
        const before = users.get(name);
        if (passwordHash !== undefined && passwordHash !== users.find(name)?.passwordHash) {
          users.setPassword(name, passwordHash, false);
          ended(name);
          audit.record(by, 'user.reset-password', name);
        }
        if (before.role === role && before.disabled === disabled) return;
        // That an administrator is left was made sure of for all users together.
        users.change(name, role, disabled);
        if (disabled) ended(name);
        audit.record(by, 'user.update', name, { role: before.role, disabled: before.disabled }, { role, disabled });
        changes.publish('users');
      }),
    remove: (name, caller) => asked(handlers.deleteUser, { params: { name }, query: {}, caller }),
  });
}
