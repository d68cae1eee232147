// What metrics mean, where people say it.
import { join } from 'node:path';
import type { AuditDomain } from '../../access/audit/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import { Peer } from '../../peers/peer.ts';
import { meaningRoutes } from './meanings.ts';
import { routes } from './routes.ts';
import { meaningsPart } from './settings-part.ts';

export const meaningsDomain = domain({
  name: 'analytics/meanings',
  routes,
  topics: ['metric-meanings'],
  create: ({ config, changes, audit }: Kernel & AuditDomain) => {
    const storaged = new Peer('storaged', join(config.run, 'storaged', 'http.sock'));
    const handlers = meaningRoutes({ storaged, audit, changes });
    return { handlers, settingsParts: [meaningsPart(handlers)] };
  },
});
