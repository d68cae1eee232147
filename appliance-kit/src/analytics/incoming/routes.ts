// What this domain answers, and who may ask.
import { ok, type Routes } from '../../http/routes.ts';
import { WorstMoments } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  listWorstMoments: { method: 'GET', path: '/api/worst-moments', access: 'viewer', summary: 'When, within the last day, what is sent here took longest: the five worst', conditional: true, answer: ok(WorstMoments) },
} as const satisfies Routes;
