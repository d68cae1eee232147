// What this domain answers, and who may ask.
import { nothing, ok, type Routes } from '../../http/routes.ts';
import { PowerPlanInput, PowerState } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  getPower: { method: 'GET', path: '/api/power', access: 'viewer', summary: 'Since when it runs, how it ended before, what was read back, and what is planned', answer: ok(PowerState) },
  planPower: { method: 'POST', path: '/api/power-plan', access: 'administrator', summary: 'Reboot or switch off at a time', body: PowerPlanInput, answer: ok(PowerState) },
  cancelPowerPlan: { method: 'DELETE', path: '/api/power-plan', access: 'administrator', summary: 'Cancel what is planned', answer: nothing },
  reboot: { method: 'POST', path: '/api/machine/reboot', access: 'administrator', summary: 'Reboot', answer: nothing },
  powerOff: { method: 'POST', path: '/api/machine/power-off', access: 'administrator', summary: 'Switch off', answer: nothing },
} as const satisfies Routes;
