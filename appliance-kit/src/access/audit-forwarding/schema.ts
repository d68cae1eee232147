// Where the audit log is sent on, and how far that is.
import { Authority } from '../../alerting/destinations/index.ts';
import { Count, component, Etag, Line, nullable, type Static, Time, Type } from '../../base/schema/schema.ts';

const settings = {
  enabled: Type.Boolean(),
  host: Line({ maxLength: 253, minLength: 0, description: 'of another machine: not loopback, not link-local' }),
  port: Type.Integer({ minimum: 1, maximum: 65_535, description: 'syslog over TLS: usually 6514' }),
};

export const AuditForwardingInput = component('AuditForwardingInput', {
  ...settings,
  ca: Type.Optional(
    Type.String({
      maxLength: 65_536,
      description:
        'PEM of the authorities that sign the receiver; left out = as stored, empty = those of the operating system',
    }),
  ),
});
export type AuditForwardingInput = Static<typeof AuditForwardingInput>;

export const AuditForwarding = component('AuditForwarding', {
  ...settings,
  etag: Etag,
  authority: nullable(Authority),
  receivedUntil: nullable(Type.Integer({ description: 'the last entry that the receiver has confirmed' })),
  receivedAt: nullable(Time),
  waiting: Count,
  missed: Type.Integer({ minimum: 0, description: 'entries that were dropped as too old before they could be sent' }),
  error: nullable(Type.String({ description: 'why it fails at present' })),
});
export type AuditForwarding = Static<typeof AuditForwarding>;
