// The alerts that this domain can raise: what the pages, the mails and the traps say of each.

import { enumerate } from '../../base/words.ts';
import { linkKeys } from '../../system/machine/index.ts';
import { alertClass } from '../catalogue/alert-class.ts';
import { sentences } from '../catalogue/words.ts';

export interface DeliveryArgs {
  readonly destinationId: string;
  readonly destinationName: string;
  readonly error: string;
  readonly waiting: number;
  /** Network links that are down. */
  readonly linksDown: readonly string[];
  /** No other is up: nothing can be delivered anywhere. */
  readonly cutOff: boolean;
}

export const deliveryFailing = alertClass<DeliveryArgs>({
  class: 'delivery.failing',
  severity: () => 'warning',
  title: ({ destinationName }) => `Alerts cannot be delivered to “${destinationName}”`,
  text: ({ destinationName, error, waiting, linksDown }) =>
    `“${destinationName}” does not take alerts: ${error}. ${waiting} ${waiting === 1 ? 'is' : 'are'} waiting.${linksDown.length === 0 ? '' : ` The network ${linksDown.length === 1 ? 'link' : 'links'} ${enumerate(linksDown)} ${linksDown.length === 1 ? 'is' : 'are'} down, which may be why.`}`,
  impact: () => 'The readers of this destination do not learn of problems.',
  response: () => 'Delivery is retried, at most five minutes apart; what waits is delivered in order.',
  action: () => 'Check the destination with its test button.',
  page: ({ destinationId }) => `/alerts/destinations/${destinationId}`,
  labels: ({ destinationName }) => ({ destination: destinationName }),
  dedupKey: ({ destinationId }) => `delivery.failing/${destinationId}`,
  example: {
    destinationId: 'dst-0mi5x3k9f-3f9c2b7a10',
    destinationName: 'Mail',
    error: 'no answer',
    waiting: 2,
    linksDown: ['eno1'],
    cutOff: true,
  },
  dedupExample: 'delivery.failing/dst-0mi5x3k9f-3f9c2b7a10',
  dependsOn: ({ linksDown, cutOff }) => (cutOff ? linkKeys(linksDown) : []),
  // The first retries take a few seconds: a mail server that is being restarted is no alert.
  visibleAfterSeconds: 60,
});

export interface RefusedArgs {
  readonly destinationId: string;
  readonly destinationName: string;
  readonly eventId: string;
  /** Of the alert that was to be sent. */
  readonly title: string;
  readonly error: string;
}

export const deliveryRefused = alertClass<RefusedArgs>({
  class: 'delivery.refused',
  severity: () => 'warning',
  title: ({ destinationName }) => `“${destinationName}” refused a message`,
  text: ({ destinationName, title, error }) =>
    `“${destinationName}” did not accept “${title}”: it refused that message repeatedly, and accepted one that came after it. ${sentences(error)}`,
  impact: () => 'The readers of this destination do not have that message.',
  response: () => 'That message is not sent there again; those after it are. The log has all it said.',
  action: () => 'Read the alert in the log, and see in the receiver’s own log why it was refused.',
  page: () => '/alerts/log',
  labels: ({ destinationName }) => ({ destination: destinationName }),
  dedupKey: ({ destinationId, eventId }) => `delivery.refused/${destinationId}/${eventId}`,
  example: {
    destinationId: 'dst-0mi5x3k9f-3f9c2b7a10',
    destinationName: 'Mail',
    eventId: 'ev-0mi5x3k9f-3f9c2b7a10',
    title: 'Telemetry store',
    error: 'no answer',
  },
  dedupExample: 'delivery.refused/dst-0mi5x3k9f-3f9c2b7a10/ev-0mi5x3k9f-3f9c2b7a10',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
  transient: true,
});

export const alertClasses = [deliveryFailing, deliveryRefused] as const;
