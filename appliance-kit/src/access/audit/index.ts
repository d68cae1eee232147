// The record of every change.
import { domain, type Kernel } from '../../domain/domain.ts';
import { Audit } from './audit.ts';
import { handedInSetting, takeOver } from './handed-in.ts';
import { auditRoutes } from './handlers.ts';
import { migrations } from './migrations.ts';
import { recordRefusal } from './refusals.ts';
import { auditRetentionPart, Retention, retentionSetting } from './retention.ts';
import { routes } from './routes.ts';

export type { Audit } from './audit.ts';
export { GENESIS, hashOf, type Link, type Stored } from './chain.ts';

export interface AuditDomain {
  readonly audit: Audit;
}

export const auditDomain = domain({
  name: 'access/audit',
  routes,
  topics: ['audit'],
  settings: [retentionSetting, handedInSetting],
  migrations,
  create: ({ db, clock, settings, changes, supportd }: Kernel) => {
    const audit = new Audit(db, clock, changes);
    const retention = new Retention({ db, audit, settings, clock, changes });
    return {
      provides: { audit } satisfies AuditDomain,
      handlers: auditRoutes({ db, audit, retention }),
      settingsParts: [auditRetentionPart(retention)],
      refused: (refusal) => recordRefusal(audit, refusal),
      periodic: [
        { everyMs: 60_000, run: () => audit.recordCounted() },
        { everyMs: 60_000, run: () => retention.drop() },
        { everyMs: 60_000, run: () => takeOver({ db, settings, clock, audit, supportd }) },
      ],
      stop: () => {
        retention.stop();
        audit.recordCounted(true);
      },
    };
  },
});
