// The certificate of the web page, and when it ends.
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import { Hourly } from '../../schedules/hourly.ts';
import { alertClasses } from './alerts.ts';
import { servedCertificate } from './certificate.ts';
import { lookAtCertificate } from './expiry.ts';

export const certificateDomain = domain({
  name: 'system/certificate',
  alertClasses,
  create: ({ config, clock, log, conditions }: Kernel & AlertsDomain) => {
    const hourly = new Hourly(log, 'when the certificate ends is not known', () =>
      lookAtCertificate(() => servedCertificate(config.httpsPort), clock, conditions),
    );
    return { start: () => hourly.start(), stop: () => hourly.stop() };
  },
});
