// What this domain answers, and who may ask.

import { nothing, type Routes } from '../../http/routes.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  reboot: { method: 'POST', path: '/api/machine/reboot', access: 'administrator', summary: 'Reboot', answer: nothing },
  powerOff: { method: 'POST', path: '/api/machine/power-off', access: 'administrator', summary: 'Switch off', answer: nothing },
} as const satisfies Routes;
