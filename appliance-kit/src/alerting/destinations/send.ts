// One way to send, whatever the kind. Each kind's code is loaded when it is first needed: most appliances use one.

import { fail } from '../../base/problems/problem.ts';
import type { Message } from '../alerts/index.ts';
import type { StoredDestination } from './destinations.ts';
import type { ChartData } from './email/chart.ts';
import type { OnLine } from './exchange.ts';
import { hostsOf, type Reach } from './reach.ts';
import type { SnmpSender } from './snmp/send.ts';

export class Senders {
  readonly #snmp: SnmpSender;
  readonly #reach: Reach;
  #lastHour: (message: Message) => Promise<ChartData | null> = async () => null;

  constructor(snmp: SnmpSender, reach: Reach) {
    this.#snmp = snmp;
    this.#reach = reach;
  }

  /** @param lastHour of what an alert is about, when that is a series; null otherwise, and when it cannot be had */
  drawWith(lastHour: (message: Message) => Promise<ChartData | null>): void {
    this.#lastHour = lastHour;
  }

  /** Returns when the other side has taken it (email, inform, webhook) or it has left (trap, syslog). Throws a problem otherwise. */
  async send(destination: StoredDestination, message: Message, onLine: OnLine = () => {}): Promise<void> {
    if (destination.lost !== undefined) {
      throw fail(
        'conflict',
        `A secret of this destination cannot be read any more: ${destination.lost.join(', ')}.`,
        'The key that sealed it is another one or was damaged. Enter the secret again.',
      );
    }
    // Looked up here for those whose sockets are made elsewhere, and once more by the sockets that are made here.
    const addresses = await Promise.all(hostsOf(destination).map(([, host]) => this.#reach.address(host)));
    const address = addresses[0] as string;
    if (destination.email !== undefined) {
      const [{ sendEmail }, { draw }] = await Promise.all([import('./email/send.ts'), import('./email/chart.ts')]);
      // A mail without its picture says all there is to say.
      const data = await this.#lastHour(message).catch(() => null);
      return sendEmail(destination.email, message, onLine, data && draw(data), address);
    }
    if (destination.webhook !== undefined) {
      const { sendWebhook } = await import('./webhook/send.ts');
      return sendWebhook(destination.webhook, message, onLine, this.#reach.lookup);
    }
    if (destination.syslog !== undefined) {
      const { sendSyslog } = await import('./syslog/send.ts');
      return sendSyslog(destination.syslog, message, onLine, this.#reach.lookup);
    }
    if (destination.snmp !== undefined) return this.#snmp.send(destination.snmp, message, onLine, address);
    throw fail('internal', `The destination ${destination.name} has no settings.`);
  }
}
