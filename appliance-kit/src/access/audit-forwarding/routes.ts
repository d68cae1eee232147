// What this domain answers, and who may ask.
import { TestResult } from '../../alerting/destinations/index.ts';
import { ok, type Routes } from '../../http/routes.ts';
import { AuditForwarding, AuditForwardingInput } from './schema.ts';

/** What of it is edited. The certificate itself is not shown, but whose it is. */
const edited = ({ enabled, host, port, authority }: AuditForwarding) => ({ enabled, host, port, ca: authority });

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  getAuditForwarding: { method: 'GET', path: '/api/audit-forwarding', access: 'administrator', summary: 'Where the audit log is sent on as it is written, and how far it was received', answer: ok(AuditForwarding), editable: edited },
  setAuditForwarding: { method: 'PUT', path: '/api/audit-forwarding', access: 'administrator', confirm: true, summary: 'Change where the audit log is sent on', body: AuditForwardingInput, answer: ok(AuditForwarding) },
  testAuditForwarding: { method: 'POST', path: '/api/audit-forwarding/test', access: 'administrator', confirm: true, summary: 'Send a test entry now, with settings that need not be saved', body: AuditForwardingInput, answer: ok(TestResult) },
} as const satisfies Routes;
