// What this domain answers, and who may ask.
import { ok, type Routes } from '../../http/routes.ts';
import { DigestInput, DigestSettings } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  getDigest: { method: 'GET', path: '/api/alert-digest', access: 'viewer', summary: 'Whether what is not urgent is sent once a day', answer: ok(DigestSettings), editable: DigestInput },
  setDigest: { method: 'PUT', path: '/api/alert-digest', access: 'operator', summary: 'Decide what is sent once a day, and when', body: DigestInput, answer: ok(DigestSettings) },
} as const satisfies Routes;
