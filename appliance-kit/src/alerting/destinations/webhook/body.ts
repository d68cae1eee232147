// An alert as the JSON that a receiver wants: our own, or that of Slack or PagerDuty.

import { quantity } from '../../../base/quantity.ts';
import { oneLine } from '../../../base/words.ts';
import { type Message, pageOf } from '../../alerts/index.ts';
import type { WebhookInput } from '../schema.ts';

const SIGN = { critical: '🔴', warning: '🟠', info: '🔵' } as const;

/** Where the alert is looked at. */
function link(message: Message): string {
  return `https://${message.hostName.replace(/[^a-zA-Z0-9.-]/g, '') || 'cistern'}${pageOf(message)}`;
}

const word = ({ event }: Message) => (event === 'clear' ? 'Cleared' : event === 'repost' ? 'Still' : 'Raised');

/** Slack's incoming webhooks (api.slack.com/messaging/webhooks); Mattermost and Rocket.Chat take the same. */
function slack(message: Message): unknown {
  const { alert, event, hostName } = message;
  const sign = event === 'clear' ? '🟢' : SIGN[alert.severity];
  // What Slack gives a meaning to, after its own rules for escaping.
  const plain = (text: string) =>
    oneLine(text, 2000).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const action = event === 'clear' ? 'Nothing more needs to be done.' : alert.action;
  return {
    text: `${sign} ${word(message)}: ${plain(alert.title)} (${plain(hostName)})`,
    blocks: [
      {
        type: 'section',
        text: {
          type: 'mrkdwn',
          text: `${sign} *${word(message)}: <${link(message)}|${plain(alert.title)}>*\n${plain(alert.text)}`,
        },
      },
      {
        type: 'context',
        elements: [{ type: 'mrkdwn', text: `${plain(hostName)} · ${alert.severity} · ${plain(action)}` }],
      },
    ],
  };
}

/** PagerDuty's Events API v2: a repeated alert and its end belong to the incident of the first one. */
function pagerDuty(message: Message, routingKey: string): unknown {
  const { alert, event, hostName, at } = message;
  const shared = { routing_key: routingKey, dedup_key: message.thread ?? alert.id };
  // An incident of many alerts is over with the last of them.
  if (event === 'clear' && (message.others ?? 0) === 0) return { ...shared, event_action: 'resolve' };
  return {
    ...shared,
    event_action: 'trigger',
    client: 'Cistern',
    client_url: link(message),
    payload: {
      summary: oneLine(`${event === 'clear' ? 'Cleared: ' : ''}${alert.title} (${hostName})`, 1024),
      source: hostName,
      severity: alert.severity,
      timestamp: at,
      class: alert.class,
      custom_details: {
        text: alert.text,
        impact: alert.impact,
        response: alert.response,
        action: alert.action,
        ...(alert.value !== null && { value: quantity(alert.value, alert.unit ?? '') }),
        ...(alert.limit !== null && { limit: quantity(alert.limit, alert.unit ?? '') }),
        labels: alert.labels,
      },
    },
  };
}

export function bodyFor(webhook: WebhookInput, message: Message): unknown {
  if (webhook.preset === 'slack') return slack(message);
  if (webhook.preset === 'pagerduty') return pagerDuty(message, webhook.secret ?? '');
  return { ...message, link: link(message) };
}
