// What this domain answers, and who may ask.
import { list } from '../../base/schema/schema.ts';
import { byId, created, nothing, ok, type Routes } from '../../http/routes.ts';
import { Objective, ObjectiveInput, ObjectiveReport, ReportQuery } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  listObjectives: { method: 'GET', path: '/api/objectives', access: 'viewer', summary: 'The objectives, and how they stand', answer: ok(list(Objective)) },
  createObjective: { method: 'POST', path: '/api/objectives', access: 'operator', summary: 'Add an objective', body: ObjectiveInput, answer: created(Objective) },
  previewObjective: { method: 'POST', path: '/api/objectives/preview', access: 'viewer', summary: 'What the report of an objective would say; nothing is kept', body: ObjectiveInput, answer: ok(ObjectiveReport) },
  getObjective: { method: 'GET', path: '/api/objectives/:id', access: 'viewer', summary: 'One objective, and how it stands', params: byId, answer: ok(Objective), editable: ObjectiveInput },
  updateObjective: { method: 'PUT', path: '/api/objectives/:id', access: 'operator', summary: 'Change an objective; it is measured anew for the whole period', params: byId, body: ObjectiveInput, answer: ok(Objective) },
  reportObjective: { method: 'GET', path: '/api/objectives/:id/report', access: 'viewer', summary: 'Its period window by window, beside the one before; by its limit, or by another one', params: byId, query: ReportQuery, answer: ok(ObjectiveReport) },
  deleteObjective: { method: 'DELETE', path: '/api/objectives/:id', access: 'operator', summary: 'Remove an objective', params: byId, answer: nothing },
} as const satisfies Routes;
