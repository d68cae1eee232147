// Who is signed in.
import { component, nullable, type Static, Time, Type } from '../../http/schema/schema.ts';

/** The roles a person can have, from the most to the least allowed. */
export const Role = Type.Enum(['administrator', 'operator', 'viewer']);
export type Role = Static<typeof Role>;

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
