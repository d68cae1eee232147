// Who is signed in.

import { component, nullable, type Static, Time, Type } from '../../base/schema/schema.ts';
import { Role } from '../../http/gate/roles.ts';

export const SessionUser = component('SessionUser', { name: Type.String(), role: Role });
export type SessionUser = Static<typeof SessionUser>;

export const Session = component('Session', {
  user: nullable(SessionUser),
  expiresAt: Type.Optional(Time),
});
export type Session = Static<typeof Session>;

export const Credentials = component('Credentials', {
  user: Type.String({ maxLength: 256 }),
  password: Type.String({ maxLength: 1024 }),
});
