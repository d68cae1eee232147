// What a destination is sent about an alert.
import type { Alert, DeliveryEvent } from './schema.ts';

/** The part of an alert that is the same for whoever is told. */
export type Told = Omit<Alert, 'deliveries' | 'history' | 'acknowledged' | 'silence' | 'routedBy' | 'escalatesAt'>;

/** What the journal holds, and a destination is told. It says all there is to say, whatever changes meanwhile. */
export interface Message {
  readonly version: 1;
  readonly eventId: string;
  readonly event: DeliveryEvent;
  readonly at: string;
  readonly hostName: string;
  readonly alert: Told;
  /** What raise, reminders and all-clear have in common: the alert's id, or that of the message that told of many. */
  readonly thread?: string;
  /** How many others of the same thread are still active. */
  readonly others?: number;
  /** There: it tells of many, and `alert` is what can be said of all of them. */
  readonly group?: MessageGroup;
}

export interface MessageGroup {
  readonly kind: 'burst' | 'digest';
  readonly count: number;
  /** The first of them. */
  readonly items: readonly {
    readonly id: string;
    readonly event: DeliveryEvent;
    readonly at: string;
    readonly severity: Alert['severity'];
    readonly title: string;
    readonly text: string;
  }[];
}

export interface Recipient {
  readonly id: string;
  readonly name: string;
}

/** Where alerts can be sent. */
export interface Recipients {
  /** The destinations that are switched on. */
  enabled(): readonly Recipient[];
  /** Whether there is such a destination, on or off. */
  known(id: string): boolean;
}
