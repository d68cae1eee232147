// A token a program signs in with. It is shown once, when it is made.
import { component, Line, nullable, type Static, Time, Type } from '../../http/schema/schema.ts';

export const TokenRole = Type.Enum(['writer', 'viewer', 'operator', 'administrator']);
export type TokenRole = Static<typeof TokenRole>;
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
