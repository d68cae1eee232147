// An entry of the audit log as a syslog message (RFC 5424), with every field as structured data.
import { iso } from '../../base/clock.ts';
import { oneLine } from '../../base/words.ts';
import type { Stored } from '../audit/index.ts';

/** Facility "log audit" (RFC 5424, table 1). */
const FACILITY = 13;
/** Warning and notice (table 2). */
const WARNING = 4;
const NOTICE = 5;
/** As in the MIB (alerting/destinations/snmp/oids.ts): net-snmp's playpen until IANA gives us a number of our own. */
const ENTERPRISE = '8072.9999.9999.7710';
/** Receivers take eight KiB by default. What is cut here is whole in the log itself. */
const MAX_NAME = 256;
const MAX_VALUE = 2_000;

/** PRINTUSASCII of a header field, at most `most` long; "-" is nothing (section 6). */
const field = (text: string, most: number) => text.replace(/[^\x21-\x7e]/g, '_').slice(0, most) || '-';

/** A PARAM-VALUE: only these three are escaped (6.3.3). */
const value = (text: string, most: number) => oneLine(text, most).replace(/["\\\]]/g, '\\$&');

export function auditMessage(entry: Stored & { readonly entry_hash: string }, hostName: string): string {
  const { id, time, user, address, way, action, target, before_json: before, after_json: after, entry_hash } = entry;
  const params: [string, string, number][] = [
    ['id', String(id), 20],
    ['user', user, MAX_NAME],
    ['address', address, MAX_NAME],
    ['way', way ?? '-', 20],
    ['action', action, MAX_NAME],
    ['target', target, MAX_NAME],
    ...(before === null ? [] : [['before', before, MAX_VALUE] as [string, string, number]]),
    ...(after === null ? [] : [['after', after, MAX_VALUE] as [string, string, number]]),
    ['hash', entry_hash, 64],
  ];
  const data = params.map(([name, text, most]) => ` ${name}="${value(text, most)}"`).join('');
  const priority = FACILITY * 8 + (action.endsWith('.refused') ? WARNING : NOTICE);
  const header = `<${priority}>1 ${iso(time)} ${field(hostName, 255)} cistern - ${field(action, 32)}`;
  // The byte order mark says that the text is UTF-8 (6.4).
  return `${header} [audit@${ENTERPRISE}${data}] \ufeff${oneLine(`${user}: ${action} ${target}`, MAX_NAME)}`;
}

/** With its length in bytes before it (RFC 5425, 4.3). */
export function frame(message: string): Buffer {
  const bytes = Buffer.from(message);
  return Buffer.concat([Buffer.from(`${bytes.length} `), bytes]);
}
