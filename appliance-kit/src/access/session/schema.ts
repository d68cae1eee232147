// Who is signed in.

import { closed, component, Etag, nullable, type Static, Time, Type } from '../../base/schema/schema.ts';
import { Role } from '../../http/gate/roles.ts';
import { UsedPasskey } from '../factors/index.ts';

export const SessionUser = component('SessionUser', { name: Type.String(), role: Role });
export type SessionUser = Static<typeof SessionUser>;

export const Session = component('Session', {
  user: nullable(SessionUser),
  provider: Type.Optional(
    closed(
      { id: Type.String(), kind: Type.Enum(['ldap', 'oidc']) },
      { description: 'the identity provider of the user' },
    ),
  ),
  expiresAt: Type.Optional(Time),
  secondFactor: Type.Optional(
    Type.Boolean({ description: 'the user has a second factor: to change the password needs it, too' }),
  ),
  app: Type.Optional(Type.Boolean({ description: 'the user has an authenticator app' })),
  passkey: Type.Optional(Type.Boolean({ description: 'the user has a passkey' })),
  mustAddFactor: Type.Optional(
    Type.Boolean({
      description: 'administrators need a second factor by now; nothing else is allowed before one is added',
    }),
  ),
  mustChangePassword: Type.Optional(
    Type.Boolean({ description: 'the password is a one-time password; nothing else is allowed before it is changed' }),
  ),
});
export type Session = Static<typeof Session>;

export const Credentials = component('Credentials', {
  user: Type.String({ maxLength: 256 }),
  password: Type.String({ maxLength: 1024 }),
  provider: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'the id of the directory that knows the user; left out: a user of the appliance',
    }),
  ),
  code: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'of the authenticator app, or a recovery code, where there is a second factor',
    }),
  ),
});

export const Confirmation = component(
  'Confirmation',
  {
    password: Type.Optional(Type.String({ maxLength: 1024 })),
    code: Type.Optional(Type.String({ maxLength: 64, description: 'of the authenticator app' })),
    passkey: Type.Optional(UsedPasskey),
  },
  'One of the three.',
);
export const Confirmed = component('Confirmed', { until: Time });

export const PasswordChange = component('PasswordChange', {
  currentPassword: Type.String({ maxLength: 1024 }),
  newPassword: Type.String({ maxLength: 1024 }),
  passkey: Type.Optional(UsedPasskey),
  code: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'of the authenticator app, or a recovery code, where there is a second factor',
    }),
  ),
});

export const ActiveSession = component('ActiveSession', {
  id: Type.String(),
  user: Type.String(),
  own: Type.Boolean({ description: 'the session that asks' }),
  address: nullable(Type.String({ description: 'of the last use' })),
  browser: nullable(Type.String({ description: 'what the browser or program called itself at sign-in' })),
  createdAt: Time,
  lastUsedAt: nullable(Time),
  expiresAt: Time,
});
export type ActiveSession = Static<typeof ActiveSession>;
export const SessionsQuery = closed({
  of: Type.Optional(
    Type.Enum(['own', 'everyone'], { description: 'of all users only for administrators; own when left out' }),
  ),
});
export const EndSessions = closed(
  { user: Type.Optional(Type.String({ maxLength: 256, description: 'whose; left out: one’s own' })) },
  { $id: 'EndSessions' },
);

export const SessionLifetime = component('SessionLifetime', {
  idleMinutes: Type.Integer({
    minimum: 5,
    maximum: 43_200,
    description: 'a session ends when it was not used so long',
  }),
  longestHours: Type.Integer({ minimum: 1, maximum: 720, description: 'a session ends so long after it began' }),
});
export type SessionLifetime = Static<typeof SessionLifetime>;
export const SessionLifetimeRead = component('SessionLifetimeRead', { ...SessionLifetime.properties, etag: Etag });
