// What this domain answers, and who may ask.

import { list } from '../../base/schema/schema.ts';
import { ok, type Routes } from '../../http/routes.ts';
import { AuditEntry, AuditQuery } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  listAudit: { method: 'GET', path: '/api/audit-log', access: 'administrator', summary: 'Who changed what, newest first', query: AuditQuery, answer: ok(list(AuditEntry)) },
} as const satisfies Routes;
