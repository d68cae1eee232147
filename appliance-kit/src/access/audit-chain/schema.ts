// What the audit log is anchored by, and whether its chain holds.
import { Count, closed, component, nullable, type Static, Time, Type } from '../../base/schema/schema.ts';

const Hash = Type.String({ description: 'SHA-256, in hexadecimal' });

export const AuditVerified = component('AuditVerified', {
  at: Time,
  entries: Count,
  places: Type.Integer({ minimum: 0, description: 'where it does not hold; 0: it holds' }),
  damages: Type.Array(Type.String(), { description: 'the first of them, in words' }),
});
export type AuditVerified = Static<typeof AuditVerified>;

export const AuditChain = component('AuditChain', {
  entries: Count,
  newest: nullable(
    component(
      'AuditLink',
      { id: Type.Integer(), hash: Hash, time: Time },
      'The newest entry: written down elsewhere, its number and hash prove everything before it',
    ),
  ),
  anchor: nullable(
    component(
      'AuditAnchor',
      { id: Type.Integer(), hash: Hash, time: Time, dropped: Count },
      'The last of the entries that were dropped for their age or number; null: none was',
    ),
  ),
  verified: nullable(AuditVerified),
});
export type AuditChain = Static<typeof AuditChain>;

export const AuditVerification = closed(
  {
    known: Type.Optional(
      Type.Array(Type.String({ maxLength: 200 }), {
        maxItems: 100,
        description: 'ID:HASH as it was written down; the first 20 digits of the hash are enough',
      }),
    ),
  },
  { $id: 'AuditVerification' },
);
