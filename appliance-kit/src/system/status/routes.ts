// What this domain answers, and who may ask.
import { ok, type Routes } from '../../http/routes.ts';
import { Status } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  getStatus: { method: 'GET', path: '/api/status', access: 'viewer', summary: 'How the appliance is, in a sentence and in parts', answer: ok(Status) },
} as const satisfies Routes;
