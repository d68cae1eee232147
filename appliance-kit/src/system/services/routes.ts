// What this domain answers, and who may ask.

import { list } from '../../base/schema/schema.ts';
import { accepted, byName, ok, type Routes } from '../../http/routes.ts';
import { Service } from '../../platform/service.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  listServices: { method: 'GET', path: '/api/services', access: 'viewer', summary: 'The services of the appliance', answer: ok(list(Service)) },
  restartService: { method: 'POST', path: '/api/services/:name/restart', access: 'operator', summary: 'Restart a service', params: byName, answer: accepted(Service) },
  startService: { method: 'POST', path: '/api/services/:name/start', access: 'operator', summary: 'Start a service that was stopped', params: byName, answer: accepted(Service) },
  stopService: { method: 'POST', path: '/api/services/:name/stop', access: 'operator', summary: 'Stop a service until it is started, or the appliance is', params: byName, answer: accepted(Service) },
  clearService: { method: 'POST', path: '/api/services/:name/clear', access: 'operator', summary: 'Forget that a service failed, and start it', params: byName, answer: accepted(Service) },
} as const satisfies Routes;
