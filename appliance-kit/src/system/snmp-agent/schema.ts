// Who may poll this appliance by SNMP. Secrets travel one way: in.
import { closed, component, Etag, Line, nullable, type Static, Time, Type } from '../../base/schema/schema.ts';

const Secret = (what: string) =>
  Type.String({ maxLength: 255, writeOnly: true, description: `${what}; left out = as stored, empty = none` });

const access = {
  enabled: Type.Boolean({ description: 'off: nothing listens on port 161' }),
  sources: Type.Array(Line({ maxLength: 18 }), {
    maxItems: 20,
    description: 'networks that the community is taken from, as 192.0.2.0/24; none: every network',
  }),
  user: Line({ minLength: 0, maxLength: 32, description: 'SNMPv3, authenticated and encrypted; empty: none' }),
  authProtocol: Type.Enum(['SHA', 'SHA-256', 'SHA-512']),
  contact: Line({ minLength: 0, maxLength: 255, description: 'sysContact' }),
  location: Line({ minLength: 0, maxLength: 255, description: 'sysLocation' }),
};
export const SnmpAgent = component('SnmpAgent', {
  ...access,
  etag: Etag,
  communitySet: Type.Boolean(),
  authPasswordSet: Type.Boolean(),
  privPasswordSet: Type.Boolean(),
  engineId: Type.String({ description: 'the SNMPv3 engine id of this appliance, of polls and traps alike' }),
  updatedAt: nullable(Time),
});
export type SnmpAgent = Static<typeof SnmpAgent>;
export const SnmpAgentInput = closed(
  {
    ...access,
    community: Type.Optional(Secret('SNMPv2c')),
    authPassword: Type.Optional(Secret('SNMPv3, 8 characters or more')),
    privPassword: Type.Optional(Secret('SNMPv3, with which AES encrypts; 8 characters or more')),
  },
  { $id: 'SnmpAgentInput' },
);
export type SnmpAgentInput = Static<typeof SnmpAgentInput>;
