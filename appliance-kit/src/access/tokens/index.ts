// API tokens.
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import type { KnownToken } from '../../http/gate/gate.ts';
import { Hourly } from '../../schedules/hourly.ts';
import type { AuditDomain } from '../audit/index.ts';
import type { UsersDomain } from '../users/index.ts';
import { alertClasses, tokenExpiring } from './alerts.ts';
import { tokenRoutes } from './handlers.ts';
import { migrations } from './migrations.ts';
import { routes } from './routes.ts';
import { tokensPart } from './settings-part.ts';
import { Tokens } from './tokens.ts';

export interface TokensDomain {
  /** Whether there is one that is a certificate. */
  readonly certificateTokens: () => boolean;
  /** Whose a certificate is of which nginx has found that the client has its key. */
  readonly tokenByCertificate: (pem: string, address: string) => KnownToken | undefined;
}

export { encodedLabels } from './restrictions.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

export { asNetwork, networkProblem } from './networks.ts';

export const EXPIRES_SOON_DAYS = 14;

export const tokensDomain = domain({
  name: 'access/tokens',
  routes,
  migrations,
  alertClasses,
  create: (parts: Kernel & AuditDomain & UsersDomain & AlertsDomain) => {
    const { db, clock, log, conditions, dependentsOnUsers } = parts;
    const tokens = new Tokens(db, clock);
    dependentsOnUsers.push({ ended: () => {}, handedOver: (from, to) => tokens.handOver(from, to) });
    const hourly = new Hourly(log, 'which API tokens expire is not known', async () => {
      const soon = tokens.expiringBefore(clock.now() + EXPIRES_SOON_DAYS * DAY_MS);
      conditions.report(
        tokenExpiring,
        soon.map(({ id, name, owner, expiresAt, lastUsedFrom }) => {
          const days = (Date.parse(expiresAt as string) - clock.now()) / DAY_MS;
          return { args: { id, name, owner, expiresAt: expiresAt as string, days, lastUsedFrom } };
        }),
      );
    });
    const handlers = tokenRoutes({ ...parts, tokens });
    return {
      provides: {
        certificateTokens: () => tokens.hasCertificates(),
        tokenByCertificate: (pem, address) => tokens.findByCertificate(pem, address),
      } satisfies TokensDomain,
      identities: { byToken: (secret, address) => tokens.find(secret, address) },
      handlers,
      settingsParts: [tokensPart({ ...parts, tokens, handlers })],
      start: () => hourly.start(),
      stop: () => hourly.stop(),
    };
  },
});
