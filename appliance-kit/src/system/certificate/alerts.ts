// The alerts that this domain can raise: what the pages, the mails and the traps say of each.
import { alertClass } from '../../alerting/catalogue/alert-class.ts';
import { inDays } from '../../alerting/catalogue/words.ts';

export interface ExpiringCertificateArgs {
  /** Whom it names. */
  readonly names: string;
  /** ms */
  readonly validTo: number;
  /** Until then; below 0 when it has ended. */
  readonly days: number;
}

/** When it is told of: each is an alert of its own. */
const STEPS_DAYS = [3, 14, 30];
const LAST_DAYS = 3;
export const FIRST_DAYS = 30;

export const certificateExpiring = alertClass<ExpiringCertificateArgs>({
  class: 'certificate.expiring',
  severity: ({ days }) => (days < LAST_DAYS ? 'critical' : 'warning'),
  severities: ['critical', 'warning'],
  title: ({ days }) =>
    days < 0
      ? 'The certificate of the web page has expired'
      : `The certificate of the web page expires ${inDays(days)}`,
  text: ({ names, validTo, days }) =>
    `The certificate for ${names || 'this appliance'} ${days < 0 ? 'was' : 'is'} valid until ${new Date(validTo).toISOString().slice(0, 10)}.`,
  impact: () =>
    'Browsers warn of a certificate that has expired, and whatever sends metrics may refuse to go on sending.',
  response: () => 'The appliance goes on answering with it.',
  action: () =>
    'Install a new certificate, or have the appliance make one of its own; senders that trust this certificate itself need the new one too.',
  page: () => '/settings/certificate',
  labels: () => ({}),
  dedupKey: ({ days }) => `certificate.expiring/${days < 0 ? 0 : (STEPS_DAYS.find((one) => days < one) ?? FIRST_DAYS)}`,
  example: { names: 'cistern.example', validTo: Date.parse('2026-01-20T00:00:00Z'), days: 9.5 },
  dedupExample: 'certificate.expiring/14',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
});

export const alertClasses = [certificateExpiring] as const;
