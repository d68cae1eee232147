// Destinations: what there are, changing them, and trying one out.

import type { Audit } from '../../access/audit/index.ts';
import { type Clock, iso } from '../../base/clock.ts';
import { asProblem, fail } from '../../base/problems/problem.ts';
import type { Caller } from '../../http/gate/caller.ts';
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
      groupId: '',
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
      unit: '',
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

/** Making, changing and removing destinations, by whichever way it is asked for. */
export function destinationActions(parts: DestinationParts) {
  const { db, destinations, deliveries, audit, changes, reach } = parts;
  const check = (id: string, input: DestinationInput, stored?: StoredDestination): StoredDestination => {
    const destination = complete(id, input, stored);
    mustBeReachable(destination, reach);
    return destination;
  };
  const mustBeStored = (id: string) => {
    const stored = destinations.stored(id);
    if (stored === undefined) throw fail('not_found', `There is no destination ${id}.`);
    return stored;
  };
  return {
    check,
    mustBeStored,

    create: async (id: string, input: DestinationInput, by: Caller) => {
      const destination = check(id, input);
      // First its place in the journal: an alert that is raised in between must find it there.
      if (destination.enabled) await deliveries.join(id);
      db.transaction(() => {
        destinations.insert(destination);
        audit.record(by, 'destination.create', destination.name, null, destination);
      });
      if (destination.enabled) deliveries.attend(id);
      changes.publish('destinations', id);
    },

    update: async (id: string, input: DestinationInput, by: Caller) => {
      const before = mustBeStored(id);
      const after = check(id, input, before);
      if (after.enabled && !before.enabled) await deliveries.join(id);
      db.transaction(() => {
        destinations.update(after);
        audit.record(by, 'destination.update', after.name, before, after);
      });
      if (after.enabled) deliveries.attend(id);
      else await deliveries.leave(id);
      changes.publish('destinations', id);
    },

    remove: async (id: string, by: Caller) => {
      const before = mustBeStored(id);
      db.transaction(() => {
        destinations.remove(id);
        audit.record(by, 'destination.delete', before.name, before, null);
      });
      await deliveries.leave(id);
      changes.publish('destinations', id);
    },
  };
}

export function destinationRoutes(
  parts: DestinationParts,
  { check, mustBeStored, create, update, remove }: ReturnType<typeof destinationActions>,
): Handlers<typeof routes> {
  const { clock, destinations, audit, send, hostName } = parts;
  return {
    listDestinations: () => ({ items: destinations.list() }),

    createDestination: async ({ body, caller }) => {
      const id = destinations.newId();
      await create(id, body, caller);
      return destinations.get(id);
    },

    getDestination: ({ params }) => destinations.get(mustBeStored(params.id).id),

    updateDestination: async ({ params, body, caller }) => {
      await update(params.id, body, caller);
      return destinations.get(params.id);
    },

    deleteDestination: async ({ params, caller }) => {
      await remove(params.id, caller);
      return undefined;
    },

    testDestination: async ({ body, caller }) => {
      const { id, ...input } = body;
      const stored = id === undefined ? undefined : mustBeStored(id);
      const destination = check(id ?? destinations.newId(), input, stored);
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
