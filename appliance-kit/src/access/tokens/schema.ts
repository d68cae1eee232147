// A token a program signs in with. It is shown once, when it is made.

import { component, Line, nullable, type Static, Time, Type } from '../../base/schema/schema.ts';
import { TokenRole } from '../../http/gate/roles.ts';

export const Token = component('Token', {
  id: Type.String(),
  name: Type.String(),
  role: TokenRole,
  createdAt: Time,
  lastUsedAt: nullable(Time),
  token: Type.Optional(Type.String({ description: 'only in the answer to POST' })),
});
export type Token = Static<typeof Token>;
export const NewToken = component('NewToken', { name: Line({ maxLength: 100 }), role: TokenRole });
