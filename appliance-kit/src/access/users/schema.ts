// The users who may sign in.
import { closed, component, Etag, nullable, type Static, Time, Type } from '../../base/schema/schema.ts';
import { Role } from '../../http/gate/roles.ts';

export const User = component('User', {
  name: Type.String(),
  role: Role,
  disabled: Type.Boolean({ description: 'cannot sign in, and the tokens of this user are refused' }),
  password: Type.Enum(['own', 'one-time', 'expired'], {
    description:
      'one-time: the appliance made it, and it must be changed at the first sign-in; expired: that did not happen in time',
  }),
  oneTimeUntil: nullable(Time),
  provider: nullable(
    Type.String({ description: 'the id of the identity provider, of whom it knows; such a user has no password here' }),
  ),
  secondFactor: Type.Boolean({ description: 'a code is asked for besides the password' }),
  createdAt: Time,
  lastSignInAt: nullable(Time),
  etag: Etag,
});
export type User = Static<typeof User>;

export const NewUser = component('NewUser', { name: Type.String({ maxLength: 256 }), role: Role });
export const UserChange = component('UserChange', { role: Role, disabled: Type.Boolean() });
export const UserDeletion = closed({
  tokensTo: Type.Optional(
    Type.String({ maxLength: 256, description: 'who gets the tokens of the user; left out: they are deleted, too' }),
  ),
});

/** Shown once, when it is made. */
export const OneTimePassword = component('OneTimePassword', {
  user: User,
  password: Type.String({ description: 'good for one sign-in, which asks for another one' }),
});
export type OneTimePassword = Static<typeof OneTimePassword>;

export const RoleDescription = component('RoleDescription', {
  role: Type.String(),
  routes: Type.Array(
    closed({
      id: Type.String({ description: 'the name of the operation in the description of the API' }),
      summary: Type.String(),
      change: Type.Boolean({ description: 'it changes something' }),
    }),
    { description: 'what this role may do, and those below it may not' },
  ),
});
export type RoleDescription = Static<typeof RoleDescription>;
