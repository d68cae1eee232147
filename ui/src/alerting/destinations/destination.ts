// A destination's form as it is typed, and the API's input made of it. A secret field left alone keeps the stored one.
import type { Schemas } from '../../api/client.ts';

export type Destination = Schemas['Destination'];
export type DestinationInput = Schemas['DestinationInput'];

export interface DestinationDraft {
  kind: Destination['kind'];
  name: string;
  enabled: boolean;
  host: string;
  port: string;
  // email
  security: 'none' | 'starttls' | 'tls';
  verifyCertificate: boolean;
  /** What is typed; null: as stored. */
  ca: string | null;
  user: string;
  from: string;
  to: string;
  password: string;
  login: 'password' | 'cram-md5' | 'xoauth2';
  tokenUrl: string;
  clientId: string;
  clientSecret: string;
  refreshToken: string;
  // snmp
  version: '2c' | '3';
  inform: boolean;
  community: string;
  snmpUser: string;
  authProtocol: 'SHA' | 'SHA-256' | 'SHA-512';
  authPassword: string;
  privPassword: string;
  // webhook
  preset: 'json' | 'slack' | 'pagerduty';
  url: string;
  secret: string;
  // syslog
  transport: 'tcp' | 'tls';
}

export const usualPort = { none: 25, starttls: 587, tls: 465, snmp: 162, tcp: 601, syslogTls: 6514 } as const;

export function newDestination(kind: Destination['kind']): DestinationDraft {
  return {
    kind,
    name: '',
    enabled: true,
    host: '',
    port: '',
    security: 'starttls',
    verifyCertificate: true,
    ca: null,
    user: '',
    from: '',
    to: '',
    password: '',
    login: 'password',
    tokenUrl: '',
    clientId: '',
    clientSecret: '',
    refreshToken: '',
    version: '2c',
    inform: false,
    community: '',
    snmpUser: '',
    authProtocol: 'SHA-256',
    authPassword: '',
    privPassword: '',
    preset: 'json',
    url: '',
    secret: '',
    transport: 'tls',
  };
}

export function draftOfDestination(one: Destination): DestinationDraft {
  const base = { ...newDestination(one.kind), name: one.name, enabled: one.enabled };
  if (one.email) {
    const { host, port, security, verifyCertificate, user = '', from, to } = one.email;
    const { login = 'password', tokenUrl = '', clientId = '' } = one.email;
    return {
      ...{ ...base, host, port: String(port), security, verifyCertificate, user, from, to: to.join(', ') },
      ...{ login, tokenUrl, clientId },
    };
  }
  if (one.snmp) {
    const { host, port, version, inform, user = '', authProtocol = 'SHA-256' } = one.snmp;
    return { ...base, host, port: String(port), version, inform, snmpUser: user, authProtocol };
  }
  if (one.webhook) {
    const { preset, verifyCertificate } = one.webhook;
    return { ...base, preset, verifyCertificate };
  }
  if (one.syslog) {
    const { host, port, transport, verifyCertificate } = one.syslog;
    return { ...base, host, port: String(port), transport, verifyCertificate };
  }
  return base;
}

export function defaultPort(draft: DestinationDraft): number {
  // RFC 6587 names none for TCP, most servers take it at 601; RFC 5425 has 6514 for TLS.
  if (draft.kind === 'syslog') return draft.transport === 'tls' ? usualPort.syslogTls : usualPort.tcp;
  return draft.kind === 'snmp' ? usualPort.snmp : usualPort[draft.security];
}

export function recipients(text: string): string[] {
  return text.split(/[\s,;]+/).filter((one) => one !== '');
}

/** A secret is sent only when something was typed: left out, the stored one stays. */
function secret<K extends string>(name: K, value: string): { [P in K]?: string } {
  return (value === '' ? {} : { [name]: value }) as { [P in K]?: string };
}

/** An authority that is left alone stays; an emptied one is removed. */
const authority = ({ ca }: DestinationDraft) => (ca === null ? {} : { ca: ca.trim() });

export function inputOfDestination(draft: DestinationDraft): DestinationInput {
  const { kind, enabled } = draft;
  const host = draft.host.trim();
  const port = draft.port.trim() === '' ? defaultPort(draft) : Number(draft.port);
  if (kind === 'email') {
    const to = recipients(draft.to);
    const user = draft.user.trim();
    return {
      kind,
      enabled,
      name: draft.name.trim() || `Email to ${to[0] ?? host}`,
      email: {
        host,
        port,
        security: draft.security,
        verifyCertificate: draft.verifyCertificate,
        ...authority(draft),
        from: draft.from.trim(),
        to,
        ...(user && { user }),
        ...secret('password', draft.password),
        ...(draft.login !== 'password' && { login: draft.login }),
        ...(draft.login === 'xoauth2' && {
          ...{ tokenUrl: draft.tokenUrl.trim(), clientId: draft.clientId.trim() },
          ...secret('clientSecret', draft.clientSecret),
          ...secret('refreshToken', draft.refreshToken),
        }),
      },
    };
  }
  if (kind === 'webhook') {
    const { preset, verifyCertificate } = draft;
    const title = { json: 'Webhook', slack: 'Slack', pagerduty: 'PagerDuty' }[preset];
    const at = URL.canParse(draft.url.trim()) ? ` at ${new URL(draft.url.trim()).host}` : '';
    return {
      kind,
      enabled,
      name: draft.name.trim() || `${title}${at}`,
      webhook: {
        preset,
        verifyCertificate,
        ...authority(draft),
        ...secret('url', draft.url.trim()),
        ...secret('secret', draft.secret),
      },
    };
  }
  if (kind === 'syslog') {
    const { transport, verifyCertificate } = draft;
    const name = draft.name.trim() || `Syslog to ${host}`;
    return { kind, enabled, name, syslog: { host, port, transport, verifyCertificate, ...authority(draft) } };
  }
  const three = draft.version === '3';
  return {
    kind,
    enabled,
    name: draft.name.trim() || `SNMP ${draft.inform ? 'informs' : 'traps'} to ${host}`,
    snmp: {
      host,
      port,
      version: draft.version,
      inform: draft.inform,
      ...(three
        ? {
            user: draft.snmpUser.trim(),
            authProtocol: draft.authProtocol,
            privProtocol: 'AES' as const,
            ...secret('authPassword', draft.authPassword),
            ...secret('privPassword', draft.privPassword),
          }
        : secret('community', draft.community)),
    },
  };
}
