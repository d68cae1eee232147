// What a destination is sent about an alert.
import type { Alert, DeliveryEvent } from './schema.ts';
import type { Shared } from './shared.ts';

/** The part of an alert that is the same for all recipients. */
export type AlertFacts = Omit<
  Alert,
  'deliveries' | 'history' | 'acknowledged' | 'silence' | 'routedBy' | 'escalatesAt'
>;

/** What the journal holds and a destination receives. It is complete, whatever changes meanwhile. */
export interface Message {
  readonly version: 1;
  readonly eventId: string;
  readonly event: DeliveryEvent;
  readonly at: string;
  readonly hostName: string;
  readonly alert: AlertFacts;
  /** What raise, reminders and all-clear have in common: the alert's id, or that of the message for many. */
  readonly thread?: string;
  /** How many others of the same thread are still active. */
  readonly others?: number;
  /** There: it is for many, and `alert` is what they have in common. */
  readonly group?: MessageGroup;
}

export interface MessageGroup {
  readonly kind: 'burst' | 'digest';
  readonly count: number;
  /** The group of all of them; not there when they are of several. */
  readonly groupId?: string;
  /** How many series their rule is about, where that is known. */
  readonly of?: number;
  /** What they have in common, in a sentence; empty: nothing, or nothing that the others have not. */
  readonly shared?: string;
  readonly apart?: Shared['apart'];
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

/** Where on the page a message is looked at: the alert, the group of many, or the log. */
export function pageOf({ alert, group }: Pick<Message, 'alert' | 'group'>): string {
  if (group === undefined) return `/alerts/${encodeURIComponent(alert.id)}`;
  return group.groupId === undefined ? '/alerts/log' : `/alerts/${group.groupId}`;
}
