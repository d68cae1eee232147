// An alert as a syslog message (RFC 5424), with what a program wants to know as structured data.

import { figure, oneLine } from '../../../base/words.ts';
import type { Message } from '../../alerts/index.ts';

/** Facility "daemon" (RFC 5424, table 1). */
const FACILITY = 3;
/** Critical, warning, informational (table 2); an alert that is over is a notice. */
const SEVERITY = { critical: 2, warning: 4, info: 6 } as const;
const NOTICE = 5;
/** As in the MIB (snmp/oids.ts): net-snmp's playpen until IANA gives us a number of our own. */
const ENTERPRISE = '8072.9999.9999.7710';

/** PRINTUSASCII of a header field, at most `most` long; "-" is nothing (section 6). */
const field = (text: string, most: number) => text.replace(/[^\x21-\x7e]/g, '_').slice(0, most) || '-';

/** A PARAM-VALUE: only these three are escaped (6.3.3). Lines would end a message where frames are lines. */
const value = (text: string) => oneLine(text, 1000).replace(/["\\\]]/g, '\\$&');

export function syslogMessage({ alert, event, eventId, hostName, at }: Message): string {
  const severity = event === 'clear' ? NOTICE : SEVERITY[alert.severity];
  const facts: [string, string][] = [
    ['event', event],
    ['eventId', eventId],
    ['alert', alert.id],
    ['class', alert.class],
    ['severity', alert.severity],
    ...(alert.value === null ? [] : [['value', figure(alert.value)] as [string, string]]),
    ...(alert.limit === null ? [] : [['limit', figure(alert.limit)] as [string, string]]),
    ...(alert.unit ? [['unit', alert.unit] as [string, string]] : []),
    ...(alert.ruleName === null ? [] : [['rule', alert.ruleName] as [string, string]]),
    ...Object.entries(alert.labels).map(
      // A PARAM-NAME has none of these, and 32 characters.
      ([name, content]) =>
        [`label.${name.replace(/[^\x21-\x7e]|[="\]]/g, '_')}`.slice(0, 32), content] as [string, string],
    ),
  ];
  const data = `[cistern@${ENTERPRISE} ${facts.map(([name, content]) => `${name}="${value(content)}"`).join(' ')}]`;
  const action = event === 'clear' ? '' : ` ${alert.action}`;
  const text = oneLine(`${event === 'clear' ? 'Cleared: ' : ''}${alert.title}. ${alert.text}${action}`, 6000);
  const header = `<${FACILITY * 8 + severity}>1 ${at} ${field(hostName, 255)} cistern - ${field(alert.class, 32)}`;
  // The byte order mark says that the text is UTF-8 (6.4).
  return `${header} ${data} \ufeff${text}`;
}
