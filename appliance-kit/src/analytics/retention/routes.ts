// What this domain answers, and who may ask.
import { ok, type Routes } from '../../http/routes.ts';
import { Retention, RetentionInput } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  getRetention: { method: 'GET', path: '/api/retention', access: 'viewer', summary: 'How long measurements are kept, by granularity, and what is stored', answer: ok(Retention), editable: RetentionInput },
  setRetention: { method: 'PUT', path: '/api/retention', access: 'administrator', confirm: true, summary: 'Keep measurements longer, or let old ones go; what has gone does not come back', body: RetentionInput, answer: ok(Retention) },
} as const satisfies Routes;
