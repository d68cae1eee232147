// The alerts that this domain can raise: what the pages, the mails and the traps say of each.

import { alertClass } from '../../alerting/catalogue/alert-class.ts';
import { sentences } from '../../alerting/catalogue/words.ts';
import { plural } from '../../base/words.ts';

export interface UnforwardedArgs {
  readonly receiver: string;
  readonly error: string;
  readonly waiting: number;
}

export const auditUnforwarded = alertClass<UnforwardedArgs>({
  class: 'audit.unforwarded',
  severity: () => 'warning',
  title: ({ receiver }) => `The audit log is not received by ${receiver}`,
  text: ({ receiver, error, waiting }) =>
    `${receiver} has confirmed nothing for more than five minutes: ${sentences(error)} ${plural(waiting, 'entry waits', 'entries wait')}.`,
  impact: () => 'What happens now is recorded on this appliance only.',
  response: () => 'It is tried again, at most a minute apart; what waits is sent in order, and nothing is left out.',
  action: () => 'Test it under Settings → Audit proof, and look at the receiver.',
  page: () => '/settings/audit-proof',
  labels: ({ receiver }) => ({ receiver }),
  dedupKey: () => 'audit.unforwarded/log',
  example: { receiver: 'logs.example.org:6514', error: 'connect ECONNREFUSED 192.0.2.9:6514', waiting: 17 },
  dedupExample: 'audit.unforwarded/log',
  dependsOn: () => [],
  visibleAfterSeconds: 300,
});

export const alertClasses = [auditUnforwarded] as const;
