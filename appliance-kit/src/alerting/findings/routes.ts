// What this domain answers, and who may ask.

import { byId, ok, type Routes } from '../../http/routes.ts';
import { AlertFindings } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  getAlertFindings: { method: 'GET', path: '/api/alerts/:id/findings', access: 'viewer', summary: 'What was found around an alert: its chart, what changed, marks, the log (for operators), other alerts', params: byId, answer: ok(AlertFindings) },
} as const satisfies Routes;
