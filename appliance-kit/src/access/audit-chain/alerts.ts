// The alerts that this domain can raise: what the pages, the mails and the traps say of each.
import { alertClass } from '../../alerting/catalogue/alert-class.ts';
import { plural } from '../../base/words.ts';

export interface DamagedArgs {
  /** The first places, in words. */
  readonly damages: readonly string[];
  readonly places: number;
}

export const auditDamaged = alertClass<DamagedArgs>({
  class: 'audit.damaged',
  severity: () => 'critical',
  title: () => 'The audit log was changed, or is damaged',
  text: ({ damages, places }) =>
    `The hash chain of the audit log does not hold in ${plural(places, 'place')}. ${damages.join(' ')}`,
  impact: () => 'What the log says of the time before and around these entries is no proof any more.',
  response: () => 'The log is left as it is, and goes on. It is verified again each night.',
  action: () =>
    'Export the log before old entries are dropped, and make a support bundle. Compare with what was sent on or written down: ' +
    'cistern audit verify --known ID:HASH. Find out who could write to the state of the management service (root), and ' +
    'whether the system pool has errors.',
  page: () => '/settings/audit-proof',
  labels: () => ({}),
  dedupKey: () => 'audit.damaged/log',
  example: { damages: ['Entry 17 was changed, or does not follow from entry 16.'], places: 1 },
  dedupExample: 'audit.damaged/log',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
});

export const alertClasses = [auditDamaged] as const;
