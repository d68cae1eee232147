// Destinations: what there are, changing them, and trying one out.

import type { Audit } from '../../access/audit/index.ts';
import { type Clock, iso } from '../../base/clock.ts';
import { asProblem, fail } from '../../base/problems/problem.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Database } from '../../state/database.ts';
import { newId } from '../../state/id.ts';
import type { Message } from '../alerts/index.ts';
import type { Delivery } from './deliveries.ts';
import { complete, type Destinations, type StoredDestination } from './destinations.ts';
import { mustBeReachable, type Reach } from './reach.ts';
import type { routes } from './routes.ts';
import type { DestinationInput, ExchangeLine } from './schema.ts';

/** Sends now, and reports to `line` what went over the wire (without secrets). */
export type Try = (
  destination: StoredDestination,
  message: Message,
  line: (direction: ExchangeLine['direction'], text: string) => void,
) => Promise<void>;

export interface DestinationParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly destinations: Destinations;
  readonly deliveries: Delivery;
  readonly audit: Audit;
  readonly changes: Changes;
  readonly send: Try;
  readonly hostName: () => string;
  readonly reach: Reach;
}

/** Longer exchanges than this are cut. */
const MAX_LINES = 500;

export function testMessage(hostName: string, now: number): Message {
  return {
    version: 1,
    eventId: newId('test', now),
    event: 'raise',
    at: iso(now),
    hostName,
    alert: {
      id: newId('test', now),
      class: 'test.message',
      title: `Test message from ${hostName}`,
      text: 'This is a test. If you can read it, alerts will reach you.',
      severity: 'info',
      state: 'active',
      raisedAt: iso(now),
      clearedAt: null,
      value: null,
      limit: null,
      labels: {},
      ruleId: null,
      ruleName: null,
      noData: false,
      impact: 'None.',
      response: 'None.',
      action: 'Nothing needs to be done.',
      page: '/alerts/destinations',
    },
  };
}

export function destinationRoutes(parts: DestinationParts): Handlers<typeof routes> {
  const { db, clock, destinations, deliveries, audit, changes, send, hostName, reach } = parts;
  const checked = (id: string, input: DestinationInput, stored?: StoredDestination): StoredDestination => {
    const destination = complete(id, input, stored);
    mustBeReachable(destination, reach);
    return destination;
  };
  return {
    listDestinations: () => ({ items: destinations.list() }),

    createDestination: async ({ body, caller }) => {
      const destination = checked(destinations.newId(), body);
      // First its place in the journal: an alert that is raised in between must find it there.
      if (destination.enabled) await deliveries.join(destination.id);
      db.transaction(() => {
        destinations.insert(destination);
        audit.record(caller, 'destination.create', destination.name, null, destination);
      });
      if (destination.enabled) deliveries.attend(destination.id);
      changes.publish('destinations', destination.id);
      return destinations.get(destination.id);
    },

    getDestination: ({ params }) => {
      if (destinations.stored(params.id) === undefined)
        throw fail('not_found', `There is no destination ${params.id}.`);
      return destinations.get(params.id);
    },

    updateDestination: async ({ params, body, caller }) => {
      const before = destinations.stored(params.id);
      if (before === undefined) throw fail('not_found', `There is no destination ${params.id}.`);
      const after = checked(params.id, body, before);
      if (after.enabled && !before.enabled) await deliveries.join(after.id);
      db.transaction(() => {
        destinations.update(after);
        audit.record(caller, 'destination.update', after.name, before, after);
      });
      if (after.enabled) deliveries.attend(after.id);
      else await deliveries.leave(after.id);
      changes.publish('destinations', after.id);
      return destinations.get(after.id);
    },

    deleteDestination: async ({ params, caller }) => {
      const before = destinations.stored(params.id);
      if (before === undefined) throw fail('not_found', `There is no destination ${params.id}.`);
      db.transaction(() => {
        destinations.remove(params.id);
        audit.record(caller, 'destination.delete', before.name, before, null);
      });
      await deliveries.leave(params.id);
      changes.publish('destinations', params.id);
      return undefined;
    },

    testDestination: async ({ body, caller }) => {
      const { id, ...input } = body;
      const stored = id === undefined ? undefined : destinations.stored(id);
      if (id !== undefined && stored === undefined) throw fail('not_found', `There is no destination ${id}.`);
      const destination = checked(id ?? destinations.newId(), input, stored);
      audit.record(caller, 'destination.test', destination.name);
      const exchange: ExchangeLine[] = [];
      const line = (direction: ExchangeLine['direction'], text: string) => {
        if (exchange.length < MAX_LINES) exchange.push({ direction, text: text.slice(0, 1000) });
      };
      try {
        await send(destination, testMessage(hostName(), clock.now()), line);
        return { ok: true, exchange, problem: null };
      } catch (error) {
        const found = asProblem(error);
        line('!', found.detail);
        return { ok: false, exchange, problem: found };
      }
    },
  };
}
