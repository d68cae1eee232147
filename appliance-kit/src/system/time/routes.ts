// What this domain answers, and who may ask.
import { ok, type Routes } from '../../http/routes.ts';
import { TimeSettings, TimeState } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  getTime: { method: 'GET', path: '/api/time', access: 'administrator', summary: 'Whom the appliance asks for the time, and what they answer', answer: ok(TimeState), editable: TimeSettings },
  setTime: { method: 'PUT', path: '/api/time', access: 'administrator', confirm: true, summary: 'Decide whom the appliance asks for the time', body: TimeSettings, answer: ok(TimeState) },
} as const satisfies Routes;
