// How long measurements are kept.
import { join } from 'node:path';
import type { AuditDomain } from '../../access/audit/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import { Peer } from '../../peers/peer.ts';
import { retentionPart, retentionRoutes } from './retention.ts';
import { routes } from './routes.ts';

export const retentionDomain = domain({
  name: 'analytics/retention',
  routes,
  create: ({ config, audit }: Kernel & AuditDomain) => {
    const handlers = retentionRoutes(new Peer('storaged', join(config.run, 'storaged', 'http.sock')), audit);
    return { handlers, settingsParts: [retentionPart(handlers)] };
  },
});
