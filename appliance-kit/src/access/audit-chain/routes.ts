// What this domain answers, and who may ask.
import { accepted, ok, type Routes } from '../../http/routes.ts';
import { Job } from '../../jobs/index.ts';
import { AuditChain, AuditVerification } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  getAuditChain: { method: 'GET', path: '/api/audit-chain', access: 'administrator', summary: 'What the audit log begins with, its newest hash, and when it was verified', answer: ok(AuditChain) },
  verifyAudit: { method: 'POST', path: '/api/audit-chain/verify', access: 'administrator', summary: 'Verify the hash chain of the audit log, also against hashes that were written down', body: AuditVerification, answer: accepted(Job) },
} as const satisfies Routes;
