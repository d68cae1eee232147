// The alerts that this domain can raise: what the pages, the mails and the traps say of each.
import { alertClass } from '../../alerting/catalogue/alert-class.ts';
import { inDays } from '../../alerting/catalogue/words.ts';

export interface ExpiringInputCertificateArgs {
  /** ms */
  readonly validTo: number;
  /** Until then; below 0 when it has ended. */
  readonly days: number;
  /** Made by the appliance. */
  readonly own: boolean;
}

export const inputCertificateExpiring = alertClass<ExpiringInputCertificateArgs>({
  class: 'input.expiring',
  severity: ({ days }) => (days < 7 ? 'critical' : 'warning'),
  severities: ['critical', 'warning'],
  title: ({ days }) =>
    days < 0
      ? 'The certificate of the inputs’ TLS ports has expired'
      : `The certificate of the inputs’ TLS ports expires ${inDays(days)}`,
  text: ({ validTo, days }) =>
    `The certificate that senders are shown on the TLS ports of inputs ${days < 0 ? 'was' : 'is'} valid until ${new Date(validTo).toISOString().slice(0, 10)}.`,
  impact: () => 'From then on senders that check it do not connect; what they send is lost unless they keep it.',
  response: ({ own }) =>
    own ? 'When it has ended the appliance makes another one, which no sender knows yet.' : 'Nothing is done.',
  action: ({ own }) =>
    own
      ? 'Make a new one at Settings → Inputs, and give it to the senders.'
      : 'Replace the files of the certificate by those of a new one from the CA: they are read within a minute.',
  page: () => '/settings/inputs',
  labels: () => ({}),
  dedupKey: ({ days }) => `input.expiring/${days < 0 ? 0 : days < 7 ? 7 : 30}`,
  example: { validTo: Date.parse('2026-01-20T00:00:00Z'), days: 9.5, own: true },
  dedupExample: 'input.expiring/30',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
});

export const alertClasses = [inputCertificateExpiring] as const;
