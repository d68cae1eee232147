// The alerts that this domain can raise: what the pages, the mails and the traps say of each.
import { alertClass } from '../../alerting/catalogue/alert-class.ts';
import { sentences } from '../../alerting/catalogue/words.ts';

export interface DiffersArgs {
  readonly differs: string;
}

export const firewallDiffers = alertClass<DiffersArgs>({
  class: 'firewall.differs',
  severity: () => 'warning',
  title: () => 'The firewall was not as it was set',
  text: ({ differs }) => `What the kernel had loaded was not what is set: ${sentences(differs)}`,
  impact: () => 'Until it was found, others may have reached the appliance than those who may, or those may not have.',
  response: () => 'The rules were loaded anew. It is looked at every minute.',
  action: () => 'Find out who changes the rules: the firewall is set under Settings → Firewall, and by nothing else.',
  page: () => '/settings/firewall',
  labels: () => ({}),
  dedupKey: () => 'firewall.differs/rules',
  example: { differs: 'This rule was not made here: input: tcp dport [23] accept' },
  dedupExample: 'firewall.differs/rules',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
});

export const alertClasses = [firewallDiffers] as const;
