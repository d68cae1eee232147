// Where alerts go. Secrets travel one way: in. What is read back says only whether one is set.

import { Problem } from '../../base/problems/schema.ts';
import { Count, closed, component, Etag, Line, nullable, type Static, Time, Type } from '../../base/schema/schema.ts';

const Port = Type.Integer({ minimum: 1, maximum: 65535 });
const Secret = (what: string) =>
  Type.String({ maxLength: 1024, writeOnly: true, description: `${what}; left out = as stored, empty = none` });

/** Whose certificates are believed: what is given, and what is shown of it. */
const given = {
  ca: Type.Optional(
    Type.String({
      maxLength: 64 * 1024,
      description:
        'PEM: the authorities that the server’s certificate is checked against, instead of those that the operating system knows; left out = as stored, empty = none',
    }),
  ),
};
export const Authority = component('Authority', {
  subject: Type.String(),
  expiresAt: Time,
  fingerprint: Type.String({ description: 'SHA-256' }),
});
export type Authority = Static<typeof Authority>;
const shown = { authority: nullable(Authority) };

export const EmailSecurity = Type.Enum(['none', 'starttls', 'tls']);
const email = {
  host: Line({ maxLength: 253 }),
  port: Port,
  security: EmailSecurity,
  verifyCertificate: Type.Boolean(),
  user: Type.Optional(Line({ maxLength: 256, minLength: 0 })),
  from: Line({ maxLength: 320 }),
  to: Type.Array(Line({ maxLength: 320 }), { minItems: 1, maxItems: 100 }),
  login: Type.Optional(
    Type.Enum(['password', 'cram-md5', 'xoauth2'], {
      description: 'password (also when left out): PLAIN or LOGIN, as the server offers',
    }),
  ),
  tokenUrl: Type.Optional(Line({ maxLength: 2048, description: 'xoauth2: where access tokens are asked for' })),
  clientId: Type.Optional(Line({ maxLength: 512, description: 'xoauth2' })),
};
export const EmailSettings = component('EmailSettings', {
  ...email,
  ...shown,
  passwordSet: Type.Boolean(),
  clientSecretSet: Type.Boolean(),
  refreshTokenSet: Type.Boolean(),
});
export const EmailInput = component('EmailInput', {
  ...email,
  ...given,
  password: Type.Optional(Secret('password')),
  clientSecret: Type.Optional(Secret('xoauth2: of the client')),
  refreshToken: Type.Optional(
    Type.String({
      maxLength: 8192,
      writeOnly: true,
      description: 'xoauth2: what access tokens are asked for with; left out = as stored, empty = none',
    }),
  ),
});
export type EmailInput = Static<typeof EmailInput>;

const snmp = {
  host: Line({ maxLength: 253 }),
  port: Port,
  version: Type.Enum(['2c', '3']),
  inform: Type.Boolean({ description: 'an inform is acknowledged by its receiver; a trap is not' }),
  user: Type.Optional(Line({ maxLength: 32, minLength: 0 })),
  authProtocol: Type.Optional(Type.Enum(['SHA', 'SHA-256', 'SHA-512'])),
  privProtocol: Type.Optional(Type.Enum(['AES'])),
};
export const SnmpSettings = component('SnmpSettings', {
  ...snmp,
  engineId: Type.String({ description: 'the SNMPv3 engine id of this appliance; a receiver of v3 traps needs it' }),
  communitySet: Type.Boolean(),
  authPasswordSet: Type.Boolean(),
  privPasswordSet: Type.Boolean(),
});
export const SnmpInput = component('SnmpInput', {
  ...snmp,
  community: Type.Optional(Secret('community (v2c)')),
  authPassword: Type.Optional(Secret('authentication password (v3), 8 characters or more')),
  privPassword: Type.Optional(Secret('privacy password (v3), 8 characters or more')),
});
export type SnmpInput = Static<typeof SnmpInput>;

const webhook = {
  verifyCertificate: Type.Boolean(),
  preset: Type.Enum(['json', 'slack', 'pagerduty'], { description: 'the form of what is posted' }),
};
export const WebhookSettings = component('WebhookSettings', {
  ...webhook,
  ...shown,
  host: Type.String({ description: 'of the address; the rest of it is a secret' }),
  secretSet: Type.Boolean(),
});
export const WebhookInput = component('WebhookInput', {
  ...webhook,
  ...given,
  url: Type.Optional(Secret('https address that is posted to')),
  secret: Type.Optional(Secret('json: what the signature is made with; pagerduty: the integration key')),
});
export type WebhookSettingsInput = Static<typeof WebhookInput>;
/** As it is kept: the address is known. */
export type WebhookInput = WebhookSettingsInput & { url: string };

const syslog = {
  host: Line({ maxLength: 253 }),
  port: Port,
  transport: Type.Enum(['tcp', 'tls']),
  verifyCertificate: Type.Boolean(),
};
export const SyslogSettings = component('SyslogSettings', { ...syslog, ...shown });
export const SyslogInput = component('SyslogInput', { ...syslog, ...given });
export type SyslogInput = Static<typeof SyslogInput>;

export const DestinationKind = Type.Enum(['email', 'snmp', 'webhook', 'syslog']);
export const DestinationHealth = component('DestinationHealth', {
  state: Type.Enum(['unknown', 'ok', 'failing']),
  lastSuccessAt: nullable(Time),
  lastError: nullable(Type.String({ description: "the server's own words" })),
  waiting: Count,
});
export type DestinationHealth = Static<typeof DestinationHealth>;

export const Destination = component('Destination', {
  id: Type.String(),
  etag: Etag,
  name: Type.String(),
  kind: DestinationKind,
  enabled: Type.Boolean(),
  email: Type.Optional(EmailSettings),
  snmp: Type.Optional(SnmpSettings),
  webhook: Type.Optional(WebhookSettings),
  syslog: Type.Optional(SyslogSettings),
  health: DestinationHealth,
});
export type Destination = Static<typeof Destination>;

const input = {
  name: Line({ maxLength: 100 }),
  kind: DestinationKind,
  enabled: Type.Boolean(),
  email: Type.Optional(EmailInput),
  snmp: Type.Optional(SnmpInput),
  webhook: Type.Optional(WebhookInput),
  syslog: Type.Optional(SyslogInput),
};
export const DestinationInput = component('DestinationInput', input);
export type DestinationInput = Static<typeof DestinationInput>;
export const DestinationTest = component(
  'DestinationTest',
  { ...input, id: Type.Optional(Type.String({ maxLength: 64 })) },
  'A destination that need not be saved; with `id` the stored secrets are filled in',
);
export type DestinationTest = Static<typeof DestinationTest>;

export const ExchangeLine = component('ExchangeLine', {
  direction: Type.Enum(['>', '<', '!']),
  text: Type.String(),
});
export type ExchangeLine = Static<typeof ExchangeLine>;
export const TestResult = closed(
  { ok: Type.Boolean(), exchange: Type.Array(ExchangeLine), problem: nullable(Problem) },
  { $id: 'TestResult' },
);
export type TestResult = Static<typeof TestResult>;
