// What this domain answers, and who may ask.
import { Type } from '../../base/schema/schema.ts';
import { ok, type Routes, stream } from '../../http/routes.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  getOpenapi: { method: 'GET', path: '/api/openapi.json', access: 'anyone', summary: 'This description', answer: ok(Type.Unknown()) },
  watchEvents: { method: 'GET', path: '/api/events', access: 'viewer', summary: 'What changes, as server-sent events named `change` that carry a Change', answer: stream({ 'text/event-stream': null }) },
} as const satisfies Routes;
