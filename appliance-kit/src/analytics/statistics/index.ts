// What is measured of this machine, and what happened meanwhile.
import type { AuditDomain } from '../../access/audit/index.ts';
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import type { DatasetsDomain } from '../../storage/datasets/index.ts';
import { alertClasses } from './alerts.ts';
import { Analytics, analyticsRoutes } from './analytics.ts';
import { MarksSource } from './marks.ts';
import { routes } from './routes.ts';
import { statisticsPart } from './settings-part.ts';
import { statisticWatch } from './watch.ts';

export type { MarksSource } from './marks.ts';
export { Mark } from './schema.ts';

export interface StatisticsDomain {
  readonly marks: MarksSource;
}

export const statisticsDomain = domain({
  name: 'analytics/statistics',
  routes,
  topics: ['analytics'],
  alertClasses,
  create: (parts: Kernel & AuditDomain & AlertsDomain & DatasetsDomain) => {
    const { db, tracerd, conditions, tree } = parts;
    const marks = new MarksSource(db, tree);
    const handlers = analyticsRoutes({ tracerd, analytics: new Analytics(parts), marks });
    return {
      provides: { marks } satisfies StatisticsDomain,
      handlers,
      settingsParts: [statisticsPart(tracerd, handlers)],
      watch: [statisticWatch({ tracerd, conditions })],
    };
  },
});
