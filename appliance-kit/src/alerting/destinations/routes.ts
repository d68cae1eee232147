// What this domain answers, and who may ask.

import { list } from '../../base/schema/schema.ts';
import { byId, created, nothing, ok, type Routes } from '../../http/routes.ts';
import { Destination, DestinationInput, DestinationTest, TestResult } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  listDestinations: { method: 'GET', path: '/api/destinations', access: 'viewer', summary: 'Where alerts go', answer: ok(list(Destination)) },
  createDestination: { method: 'POST', path: '/api/destinations', access: 'operator', summary: 'Add a destination', body: DestinationInput, answer: created(Destination) },
  getDestination: { method: 'GET', path: '/api/destinations/:id', access: 'viewer', summary: 'One destination', params: byId, answer: ok(Destination), editable: DestinationInput },
  updateDestination: { method: 'PUT', path: '/api/destinations/:id', access: 'operator', summary: 'Change a destination', params: byId, body: DestinationInput, answer: ok(Destination) },
  deleteDestination: { method: 'DELETE', path: '/api/destinations/:id', access: 'operator', summary: 'Remove a destination', params: byId, answer: nothing },
  testDestination: { method: 'POST', path: '/api/destinations/test', access: 'operator', summary: 'Send a test message now and show the exchange', body: DestinationTest, answer: ok(TestResult) },
} as const satisfies Routes;
