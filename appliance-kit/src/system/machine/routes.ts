// What this domain answers, and who may ask.
import { nothing, ok, type Routes } from '../../http/routes.ts';
import { LinkName, Machine } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  getMachine: { method: 'GET', path: '/api/machine', access: 'viewer', summary: 'How its clock is kept, its network links and temperatures', answer: ok(Machine) },
  forgetLink: { method: 'DELETE', path: '/api/machine/links/:name', access: 'operator', summary: 'Say that a network link which is down is meant to be', params: LinkName, answer: nothing },
} as const satisfies Routes;
