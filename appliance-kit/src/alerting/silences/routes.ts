// What this domain answers, and who may ask.

import { list } from '../../base/schema/schema.ts';
import { byId, created, ok, type Routes } from '../../http/routes.ts';
import { Silence, SilenceInput } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  listSilences: { method: 'GET', path: '/api/silences', access: 'viewer', summary: 'Silences and maintenance windows, also those that ended', answer: ok(list(Silence)) },
  createSilence: { method: 'POST', path: '/api/silences', access: 'operator', summary: 'Hold alerts back for a time', body: SilenceInput, answer: created(Silence) },
  getSilence: { method: 'GET', path: '/api/silences/:id', access: 'viewer', summary: 'One silence', params: byId, answer: ok(Silence), editable: SilenceInput },
  updateSilence: { method: 'PUT', path: '/api/silences/:id', access: 'operator', summary: 'Change a silence that has not ended', params: byId, body: SilenceInput, answer: ok(Silence) },
  endSilence: { method: 'POST', path: '/api/silences/:id/end', access: 'operator', summary: 'End it now; what is still active is sent', params: byId, answer: ok(Silence) },
} as const satisfies Routes;
