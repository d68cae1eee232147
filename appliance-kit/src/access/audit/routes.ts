// What this domain answers, and who may ask.

import { list } from '../../base/schema/schema.ts';
import { ok, type Routes, stream } from '../../http/routes.ts';
import { AuditEntry, AuditExportQuery, AuditQuery, AuditRetention, AuditRetentionInput } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  listAudit: { method: 'GET', path: '/api/audit-log', access: 'administrator', summary: 'Who changed what, newest first', query: AuditQuery, answer: ok(list(AuditEntry)) },
  exportAudit: { method: 'GET', path: '/api/audit-export', access: 'administrator', summary: 'The audit log as a file, oldest first; that it was read is recorded in it', query: AuditExportQuery, answer: stream({ 'text/csv': null, 'application/jsonl': null }) },
  getAuditRetention: { method: 'GET', path: '/api/audit-retention', access: 'administrator', summary: 'How long and how many entries of the audit log are kept', answer: ok(AuditRetention), editable: AuditRetentionInput },
  setAuditRetention: { method: 'PUT', path: '/api/audit-retention', access: 'administrator', confirm: true, summary: 'Change how long and how many entries of the audit log are kept', body: AuditRetentionInput, answer: ok(AuditRetention) },
} as const satisfies Routes;
