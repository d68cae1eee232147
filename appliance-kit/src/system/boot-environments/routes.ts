// What this domain answers, and who may ask.

import { list } from '../../base/schema/schema.ts';
import { ok, type Routes } from '../../http/routes.ts';
import { BootEnvironment, BootEnvironmentName } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  listBootEnvironments: { method: 'GET', path: '/api/boot-environments', access: 'viewer', summary: 'The installed systems: which one runs, which one starts next time', answer: ok(list(BootEnvironment)) },
  activateBootEnvironment: { method: 'POST', path: '/api/boot-environments/:name/activate', access: 'administrator', summary: 'Have another system start next time; nothing is restarted', params: BootEnvironmentName, answer: ok(list(BootEnvironment)) },
} as const satisfies Routes;
