// Silences and maintenance windows.
import type { AuditDomain } from '../../access/audit/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import { migrations } from './migrations.ts';
import { routes } from './routes.ts';
import { Silences, silenceRoutes } from './silences.ts';

export { Silence } from './schema.ts';
export type { Silences, Subject } from './silences.ts';

export interface SilencesDomain {
  readonly silences: Silences;
}

export const silencesDomain = domain({
  name: 'alerting/silences',
  routes,
  topics: ['silences'],
  migrations,
  create: ({ db, clock, changes, alertClasses, audit }: Kernel & AuditDomain) => {
    const silences = new Silences({ db, clock, audit, changes, classes: alertClasses });
    return { provides: { silences } satisfies SilencesDomain, handlers: silenceRoutes(silences) };
  },
});
