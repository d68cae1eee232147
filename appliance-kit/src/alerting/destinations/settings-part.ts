// The destinations as a part of the settings document, by their ids: rules and classes name them so.
import { manyPart } from '../../domain/settings-part.ts';
import type { Caller } from '../../http/gate/caller.ts';
import { complete, type Destinations, SECRETS, type StoredDestination } from './destinations.ts';
import { DestinationInput } from './schema.ts';

/** As a document has it: what is empty is not there. */
function inputOf({ id: _, lost: __, ...rest }: StoredDestination): DestinationInput {
  return rest;
}

export function destinationsPart(parts: {
  destinations: Destinations;
  check: (id: string, input: DestinationInput, stored?: StoredDestination) => StoredDestination;
  create: (id: string, input: DestinationInput, by: Caller) => Promise<unknown>;
  update: (id: string, input: DestinationInput, by: Caller) => Promise<unknown>;
  remove: (id: string, by: Caller) => Promise<unknown>;
}) {
  const { destinations, check, create, update, remove } = parts;
  return manyPart({
    ...{ name: 'destinations', title: 'Alert destinations', version: 1, schema: DestinationInput },
    covers: ['createDestination', 'updateDestination', 'deleteDestination'],
    secrets: Object.entries(SECRETS).flatMap(([kind, fields]) => fields.map((field) => `/${kind}/${field}`)),
    emptied: ['/email/ca', '/webhook/ca', '/syslog/ca'],
    normalise: (input, id) => inputOf(complete(id, input)),
    read: () => Object.fromEntries(destinations.all().map((one) => [one.id, inputOf(one)])),
    check: (id, given) => void check(id, given, destinations.stored(id)),
    ...{ create, update, remove },
  });
}
