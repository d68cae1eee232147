// What this domain answers, and who may ask.

import { list } from '../base/schema/schema.ts';
import { byId, ok, type Routes } from '../http/routes.ts';
import { Job } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  listJobs: { method: 'GET', path: '/api/jobs', access: 'viewer', summary: 'Running and recent jobs, newest first', answer: ok(list(Job)) },
  getJob: { method: 'GET', path: '/api/jobs/:id', access: 'viewer', summary: 'One job', params: byId, answer: ok(Job) },
  cancelJob: { method: 'POST', path: '/api/jobs/:id/cancel', access: 'operator', summary: 'Ask a job to stop', params: byId, answer: ok(Job) },
} as const satisfies Routes;
