// One change, and who made it.
import { component, nullable, type Static, Time, Type } from '../../base/schema/schema.ts';

export const AuditEntry = component('AuditEntry', {
  id: Type.Integer(),
  time: Time,
  user: Type.String({ description: "a user's name, `token:NAME`, `setup` or `appliance`" }),
  address: Type.String({ description: 'where the request came from' }),
  action: Type.String({ description: 'what was done, as domain.verb' }),
  target: Type.String({ description: 'what it was done to' }),
  before: nullable(Type.Unknown({ description: 'secrets are masked' })),
  after: nullable(Type.Unknown({ description: 'secrets are masked' })),
});
export type AuditEntry = Static<typeof AuditEntry>;
export const AuditQuery = Type.Object(
  {
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: '100 when left out' })),
    before: Type.Optional(Type.Integer({ minimum: 1, description: 'the id of the last entry of the page before' })),
  },
  { additionalProperties: false },
);
