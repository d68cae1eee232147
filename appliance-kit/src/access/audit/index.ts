// The record of every change.
import { domain, type Kernel } from '../../domain/domain.ts';
import { Audit, auditRoutes } from './audit.ts';
import { migrations } from './migrations.ts';
import { routes } from './routes.ts';

export type { Audit } from './audit.ts';

export interface AuditDomain {
  readonly audit: Audit;
}

export const auditDomain = domain({
  name: 'access/audit',
  routes,
  migrations,
  create: ({ db, clock }: Kernel) => {
    const audit = new Audit(db, clock);
    return { provides: { audit } satisfies AuditDomain, handlers: auditRoutes(audit) };
  },
});
