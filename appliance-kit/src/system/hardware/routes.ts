// What this domain answers, and who may ask.
import { nothing, ok, type Routes } from '../../http/routes.ts';
import { byPart, Hardware, HardwareEventList } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  getHardware: { method: 'GET', path: '/api/hardware', access: 'viewer', summary: 'The machine’s parts, sensors and errors', answer: ok(Hardware) },
  listHardwareEvents: { method: 'GET', path: '/api/hardware/events', access: 'viewer', summary: 'The end of the management controller’s event log, the newest first', answer: ok(HardwareEventList) },
  clearHardwareErrors: { method: 'POST', path: '/api/hardware/errors/:part/clear', access: 'operator', summary: 'Count a part’s errors from now on', params: byPart, answer: nothing },
  retryController: { method: 'POST', path: '/api/hardware/retry-controller', access: 'operator', summary: 'Ask the management controller now, which rests after an answer that took long', answer: nothing },
} as const satisfies Routes;
