// What this domain answers, and who may ask.

import { list } from '../../base/schema/schema.ts';
import { byId, nothing, ok, type Routes } from '../../http/routes.ts';
import { Crash } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  listCrashes: { method: 'GET', path: '/api/crashes', access: 'operator', summary: 'Processes that crashed, the newest first', answer: ok(list(Crash)) },
  dismissCrash: { method: 'POST', path: '/api/crashes/:id/dismiss', access: 'operator', summary: 'Say that a crash was seen: its alert ends until it happens again', params: byId, answer: nothing },
} as const satisfies Routes;
