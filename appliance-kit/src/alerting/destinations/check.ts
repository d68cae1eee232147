// What a destination's settings must be like beyond their shape. Strict where a value ends up in a configuration file
// or on a command line.
import { fail } from '../../base/problems/problem.ts';
import { authorityProblem } from './authority.ts';
import type { EmailInput, SnmpInput, SyslogInput, WebhookSettingsInput } from './schema.ts';

type Errors = { path: string; message: string }[];

const HOST = /^[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?$/;
const IPV6 = /^[0-9a-fA-F:.]*:[0-9a-fA-F:.]*(%[a-zA-Z0-9]+)?$/;
/** One address as SMTP takes it, with or without a name before it. Deliberately narrower than RFC 5322. */
const ADDRESS = /^([^<>"\\]*<)?[^\s<>,;:"()@\\]+@[^\s<>,;:"()@\\]+>?$/;
/** What can stand between quotes in net-snmp's configuration files and mean itself. */
const SNMP_SECRET = /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/;
const SHORTEST_SNMP_PASSPHRASE = 8; // RFC 3414, 11.2

function throwIfAny(errors: Errors, what: string): void {
  if (errors.length === 0) return;
  const words = errors.map(({ path, message }) => `${path} ${message}`).join('; ');
  throw fail('invalid_request', `The ${what} settings were refused: ${words}.`, undefined, errors);
}

function authorityErrors(path: string, ca: string | undefined): Errors {
  const message = ca === undefined ? null : authorityProblem(ca, Date.now());
  return message === null ? [] : [{ path, message }];
}

const hostErrors = (path: string, host: string): Errors =>
  HOST.test(host) || IPV6.test(host) ? [] : [{ path, message: 'must be a host name or an address' }];

export function checkEmail(email: EmailInput): void {
  const errors = [...hostErrors('/email/host', email.host), ...authorityErrors('/email/ca', email.ca)];
  const address = (path: string, text: string) => {
    const closed = text.includes('<') === text.endsWith('>');
    if (!ADDRESS.test(text) || !closed) errors.push({ path, message: 'must be a mail address, as ops@example.org' });
  };
  address('/email/from', email.from);
  email.to.forEach((to, at) => {
    address(`/email/to/${at}`, to);
  });
  if (email.login === 'xoauth2') {
    if (email.user === undefined) errors.push({ path: '/email/user', message: 'is missing' });
    const url = email.tokenUrl === undefined ? null : URL.parse(email.tokenUrl);
    if (url === null || url.protocol !== 'https:') {
      errors.push({ path: '/email/tokenUrl', message: 'must begin with https://: the refresh token is sent there' });
    }
    if (email.clientId === undefined) errors.push({ path: '/email/clientId', message: 'is missing' });
    if (email.refreshToken === undefined) errors.push({ path: '/email/refreshToken', message: 'is missing' });
  } else if (email.login === 'cram-md5' && email.user === undefined) {
    errors.push({ path: '/email/user', message: 'is missing' });
  } else if (email.user !== undefined && email.password === undefined) {
    errors.push({ path: '/email/password', message: 'is needed with a user' });
  }
  throwIfAny(errors, 'mail');
}

export function checkSnmp(snmp: SnmpInput): void {
  const errors = hostErrors('/snmp/host', snmp.host);
  const secret = (path: string, value: string | undefined, shortest: number) => {
    if (value === undefined) errors.push({ path, message: 'is missing' });
    else if (value.length < shortest) errors.push({ path, message: `must have at least ${shortest} characters` });
    else if (!SNMP_SECRET.test(value)) {
      errors.push({ path, message: 'may hold printable ASCII characters other than " and \\ only' });
    }
  };
  if (snmp.version === '2c') {
    secret('/snmp/community', snmp.community, 1);
  } else {
    if (snmp.user === undefined) errors.push({ path: '/snmp/user', message: 'is missing' });
    else if (!/^[\x21\x24-\x5b\x5d-\x7e]+$/.test(snmp.user)) {
      errors.push({
        path: '/snmp/user',
        message: 'may hold printable ASCII characters other than space, ", # and \\ only',
      });
    }
    if (snmp.authProtocol === undefined) errors.push({ path: '/snmp/authProtocol', message: 'is missing' });
    if (snmp.privProtocol === undefined) errors.push({ path: '/snmp/privProtocol', message: 'is missing' });
    secret('/snmp/authPassword', snmp.authPassword, SHORTEST_SNMP_PASSPHRASE);
    secret('/snmp/privPassword', snmp.privPassword, SHORTEST_SNMP_PASSPHRASE);
  }
  throwIfAny(errors, 'SNMP');
}

export function checkWebhook(webhook: WebhookSettingsInput): asserts webhook is WebhookSettingsInput & { url: string } {
  const errors = authorityErrors('/webhook/ca', webhook.ca);
  const url = webhook.url === undefined ? null : URL.parse(webhook.url);
  if (webhook.url === undefined) errors.push({ path: '/webhook/url', message: 'is missing' });
  else if (url === null || !['https:', 'http:'].includes(url.protocol)) {
    errors.push({ path: '/webhook/url', message: 'must be an address that begins with https://' });
  } else if (url.protocol === 'http:' && webhook.preset !== 'json') {
    const what = webhook.preset === 'slack' ? 'the address itself is the secret' : 'the integration key is sent there';
    errors.push({ path: '/webhook/url', message: `must begin with https://: ${what}` });
  } else if (url.username !== '' || url.password !== '') {
    errors.push({ path: '/webhook/url', message: 'may not hold a user name or a password' });
  }
  if (webhook.preset === 'pagerduty' && webhook.secret === undefined) {
    errors.push({ path: '/webhook/secret', message: 'is needed: the integration key' });
  }
  throwIfAny(errors, 'webhook');
}

export function checkSyslog(syslog: SyslogInput): void {
  throwIfAny([...hostErrors('/syslog/host', syslog.host), ...authorityErrors('/syslog/ca', syslog.ca)], 'syslog');
}
