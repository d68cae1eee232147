// What this domain answers, and who may ask.

import { list } from '../../base/schema/schema.ts';
import { ok, type Routes } from '../../http/routes.ts';
import { InstalledSystem, SystemName } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  listSystems: { method: 'GET', path: '/api/systems', access: 'viewer', summary: 'The installed systems: which one runs, which one starts next time', answer: ok(list(InstalledSystem)) },
  activateSystem: { method: 'POST', path: '/api/systems/:name/activate', access: 'administrator', summary: 'Have another system start next time; nothing is restarted', params: SystemName, answer: ok(list(InstalledSystem)) },
} as const satisfies Routes;
