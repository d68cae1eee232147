// What this domain answers, and who may ask.
import { ok, type Routes } from '../../http/routes.ts';
import { Tuning, TuningSettings } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  getTuning: { method: 'GET', path: '/api/tuning', access: 'administrator', summary: 'How the operating system is tuned, and what it has by itself', answer: ok(Tuning), editable: TuningSettings },
  setTuning: { method: 'PUT', path: '/api/tuning', access: 'administrator', confirm: true, summary: 'Tune the operating system', body: TuningSettings, answer: ok(Tuning) },
} as const satisfies Routes;
