// The certificate of the web page: what it is, when it ends, and another one in its place.
import type { AuditDomain } from '../../access/audit/index.ts';
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import { Hourly } from '../../schedules/hourly.ts';
import { alertClasses } from './alerts.ts';
import { servedCertificate } from './certificate.ts';
import { lookAtCertificate } from './expiry.ts';
import { certificateRoutes } from './handlers.ts';
import { routes } from './routes.ts';

export const certificateDomain = domain({
  name: 'system/certificate',
  routes,
  topics: ['certificate'],
  alertClasses,
  create: (parts: Kernel & AuditDomain & AlertsDomain) => {
    const { config, clock, log, conditions } = parts;
    const hourly = new Hourly(log, 'when the certificate ends is not known', () =>
      lookAtCertificate(() => servedCertificate(config.httpsPort), clock, conditions),
    );
    return {
      // What the alert says of the one before is over.
      handlers: certificateRoutes({ ...parts, changed: () => void hourly.look() }),
      start: () => hourly.start(),
      stop: () => hourly.stop(),
    };
  },
});
