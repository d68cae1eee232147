// Worksheets: charts that belong together.
import type { AuditDomain } from '../../access/audit/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import { migrations } from './migrations.ts';
import { routes } from './routes.ts';
import { worksheetsPart } from './settings-part.ts';
import { Worksheets, worksheetRoutes } from './worksheets.ts';

export { Chart } from './schema.ts';
export type { Worksheets } from './worksheets.ts';

export interface WorksheetsDomain {
  readonly worksheets: Worksheets;
}

export const worksheetsDomain = domain({
  name: 'analytics/worksheets',
  routes,
  topics: ['worksheets'],
  migrations,
  create: (parts: Kernel & AuditDomain) => {
    const worksheets = new Worksheets(parts);
    return {
      provides: { worksheets } satisfies WorksheetsDomain,
      handlers: worksheetRoutes(worksheets),
      settingsParts: [worksheetsPart(worksheets)],
    };
  },
});
