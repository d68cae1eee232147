// What this domain answers, and who may ask.

import { list } from '../../base/schema/schema.ts';
import { ok, type Routes } from '../../http/routes.ts';
import { User } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  listUsers: { method: 'GET', path: '/api/users', access: 'administrator', summary: 'Who may sign in', answer: ok(list(User)) },
} as const satisfies Routes;
