// What this domain answers, and who may ask.

import { list } from '../../base/schema/schema.ts';
import { byId, created, nothing, ok, type Routes } from '../../http/routes.ts';
import { Worksheet, WorksheetChange, WorksheetFile, WorksheetInput } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  listWorksheets: { method: 'GET', path: '/api/worksheets', access: 'viewer', summary: 'The ready worksheets, the shared ones and one’s own', answer: ok(list(Worksheet)) },
  createWorksheet: { method: 'POST', path: '/api/worksheets', access: 'viewer', summary: 'Add a worksheet', body: WorksheetInput, answer: created(Worksheet) },
  importWorksheet: { method: 'POST', path: '/api/worksheets/import', access: 'viewer', summary: 'Add a worksheet from a file that was exported', body: WorksheetFile, answer: created(Worksheet) },
  getWorksheet: { method: 'GET', path: '/api/worksheets/:id', access: 'viewer', summary: 'One worksheet', params: byId, answer: ok(Worksheet), editable: WorksheetInput },
  updateWorksheet: { method: 'PUT', path: '/api/worksheets/:id', access: 'viewer', summary: 'Change a worksheet of one’s own', params: byId, body: WorksheetInput, answer: ok(Worksheet) },
  deleteWorksheet: { method: 'DELETE', path: '/api/worksheets/:id', access: 'viewer', summary: 'Delete a worksheet of one’s own; what it recorded stays', params: byId, answer: nothing },
  exportWorksheet: { method: 'GET', path: '/api/worksheets/:id/file', access: 'viewer', summary: 'A worksheet as a file', params: byId, answer: ok(WorksheetFile) },
  suspendWorksheet: { method: 'POST', path: '/api/worksheets/:id/suspend', access: 'operator', summary: 'Suspend all of its statistics', params: byId, answer: ok(WorksheetChange) },
  resumeWorksheet: { method: 'POST', path: '/api/worksheets/:id/resume', access: 'operator', summary: 'Resume all of its statistics', params: byId, answer: ok(WorksheetChange) },
} as const satisfies Routes;
