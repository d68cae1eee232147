// An alert as a mail: everything one needs to know, as text and as HTML, and headers that make raise, repeats and
// clear one conversation.

import { quantity } from '../../../base/quantity.ts';
import { oneLine } from '../../../base/words.ts';
import { type Message, pageOf } from '../../alerts/index.ts';
import type { Chart } from './chart.ts';

export interface Mail {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly messageId: string;
  readonly references: string[];
  readonly headers: Record<string, string>;
  /** RFC 2919: what mail programs sort by. */
  readonly listId: string;
}

const SEVERITY = { critical: 'Critical', warning: 'Warning', info: 'Information' } as const;
const COLOUR = { critical: '#c9190b', warning: '#b25c00', info: '#2b6cb0' } as const;

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

const EVENTS = { raise: 'raised', clear: 'cleared', repost: 'still', escalate: 'not acknowledged' } as const;

/** Of a burst; its page has all of them. */
const LISTED = 10;

/** A host name that is safe between `@` and `>`; what is not allowed in one is left out. */
function domain(hostName: string): string {
  return hostName.replace(/[^a-zA-Z0-9.-]/g, '') || 'cistern';
}

/** Where the picture is found within the mail. */
export const CHART_ID = 'chart@cistern';

/** The alerts themselves are listed below it. */
const described = ({ alert, event }: Message) =>
  `${alert.title}, ${EVENTS[event]}${event === 'repost' ? ' active' : ''}.`;

export function compose(message: Message, chart: Chart | null = null): Mail {
  const { alert, event, hostName, eventId, at } = message;
  const host = domain(hostName);
  const severity = SEVERITY[alert.severity];
  const prefix =
    event === 'clear'
      ? 'Cleared'
      : event === 'repost'
        ? `Still ${severity.toLowerCase()}`
        : event === 'escalate'
          ? `Not acknowledged: ${severity.toLowerCase()}`
          : severity;
  const link = `https://${host}${pageOf(message)}`;
  const group = message.group;
  const listed =
    group?.items
      .slice(0, group.kind === 'burst' ? LISTED : undefined)
      .map((one) => `${one.at.slice(0, 16).replace('T', ' ')} ${EVENTS[one.event]}: ${one.title}`) ?? [];
  if (group && group.count > listed.length) listed.push(`and ${group.count - listed.length} more`);
  const labels = Object.entries(alert.labels)
    .map(([name, value]) => `${name}=${oneLine(value, 200)}`)
    .join(', ');

  const facts: [string, string][] = [
    ['Class', alert.class],
    ['Severity', severity],
    ['Source', hostName],
    [event === 'clear' ? 'Cleared' : 'Raised', event === 'clear' ? (alert.clearedAt ?? at) : alert.raisedAt],
  ];
  if (event === 'clear') facts.push(['Was raised', alert.raisedAt]);
  if (alert.value !== null) facts.push(['Value', quantity(alert.value, alert.unit ?? '')]);
  if (alert.limit !== null) facts.push(['Limit', quantity(alert.limit, alert.unit ?? '')]);
  if (alert.ruleName !== null) facts.push(['Rule', alert.ruleName]);
  if (group)
    facts.push(['Alerts', group.of === undefined ? String(group.count) : `${group.count} of ${group.of} series`]);
  if (labels !== '') facts.push(['Labels', labels]);
  facts.push(['Event', eventId], ['Alert', alert.id]);

  const paragraphs: [string, string][] = [
    ['Description', group?.kind === 'burst' ? described(message) : alert.text],
    ...(group?.shared ? ([['In common', group.shared]] as [string, string][]) : []),
    ['Automated response', alert.response],
    ['Impact', alert.impact],
    ['Recommended action', event === 'clear' ? 'Nothing more needs to be done.' : alert.action],
  ];

  const width = Math.max(...facts.map(([name]) => name.length));
  const text = [
    `${prefix}: ${alert.title}`,
    '',
    ...paragraphs.flatMap(([name, words]) => [`${name}:`, `  ${words}`, '']),
    ...(listed.length > 0 ? [...listed.map((one) => `  ${oneLine(one, 300)}`), ''] : []),
    ...(chart ? ['The last hour:', `  ${chart.words}`, ''] : []),
    ...facts.map(([name, value]) => `${`${name}:`.padEnd(width + 2)}${value}`),
    '',
    `Open: ${link}`,
    '',
  ].join('\n');

  const colour = event === 'clear' ? '#3e8635' : COLOUR[alert.severity];
  const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escaped(oneLine(`${prefix}: ${alert.title}`, 200))}</title></head>
<body style="font-family:sans-serif;line-height:1.4;background:#ffffff;color:#151515"><main style="max-width:40em">
<h1 style="border-left:6px solid ${colour};padding-left:12px;font-size:1.2em;font-weight:normal"><strong>${escaped(prefix)}</strong><br>${escaped(alert.title)}</h1>
${paragraphs.map(([name, words]) => `<p><strong>${name}</strong><br>${escaped(words)}</p>`).join('\n')}
${listed.length > 0 ? `<ul>${listed.map((one) => `<li>${escaped(oneLine(one, 300))}</li>`).join('\n')}</ul>` : ''}
${chart ? `<p><img src="cid:${CHART_ID}" width="${chart.width}" height="${chart.height}" style="max-width:100%;height:auto" alt="Chart of the last hour"><br><small>The last hour. ${escaped(chart.words)}</small></p>` : ''}
<table style="border-collapse:collapse">
${facts.map(([name, value]) => `<tr><th scope="row" style="text-align:left;padding:2px 12px 2px 0">${escaped(name)}</th><td>${escaped(value)}</td></tr>`).join('\n')}
</table>
<p><a href="${escaped(link)}">Open ${group ? 'these alerts' : 'this alert'} on ${escaped(hostName)}</a></p>
</main></body></html>
`;

  // The first mail of an alert carries the alert's own id (or that of the message for many), so that those
  // after it can refer to it without knowing it.
  const root = `<${message.thread ?? alert.id}@${host}>`;
  const isFirst = event === 'raise';
  return {
    subject: oneLine(`[${hostName}] ${prefix}: ${alert.title}`, 200),
    text,
    html,
    messageId: isFirst ? root : `<${eventId}@${host}>`,
    references: isFirst ? [] : [root],
    listId: `alerts.${host}`,
    headers: {
      'Auto-Submitted': 'auto-generated',
      'X-Cistern-Class': alert.class,
      'X-Cistern-Severity': alert.severity,
      'X-Cistern-Event': event,
      'X-Cistern-Event-Id': eventId,
      'X-Cistern-Alert-Id': alert.id,
    },
  };
}
