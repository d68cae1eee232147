// The users who may sign in.
import { component, nullable, type Static, Time, Type } from '../../base/schema/schema.ts';
import { Role } from '../../http/gate/roles.ts';

export const User = component('User', {
  name: Type.String(),
  role: Role,
  createdAt: Time,
  lastSignInAt: nullable(Time),
});
export type User = Static<typeof User>;
