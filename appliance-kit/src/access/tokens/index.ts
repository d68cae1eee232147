// API tokens.
import { domain, type Kernel } from '../../domain/domain.ts';
import type { AuditDomain } from '../audit/index.ts';
import { migrations } from './migrations.ts';
import { routes } from './routes.ts';
import { Tokens, tokenRoutes } from './tokens.ts';

export const tokensDomain = domain({
  name: 'access/tokens',
  routes,
  migrations,
  create: ({ db, clock, audit }: Kernel & AuditDomain) => {
    const tokens = new Tokens(db, clock);
    return {
      identities: { byToken: (secret) => tokens.find(secret) },
      handlers: tokenRoutes({ tokens, db, audit }),
    };
  },
});
