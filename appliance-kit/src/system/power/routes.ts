// What this domain answers, and who may ask.

import { nothing, type Routes } from '../../http/routes.ts';
import { Power } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  power: { method: 'POST', path: '/api/power', access: 'administrator', summary: 'Reboot or switch off', body: Power, answer: nothing },
} as const satisfies Routes;
