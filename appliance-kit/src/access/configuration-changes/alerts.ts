// The alerts that this domain can raise: what the pages, the mails and the traps say of each.
import { alertClass } from '../../alerting/catalogue/alert-class.ts';
import { enumerate, plural } from '../../base/words.ts';

export interface ChangedArgs {
  /** The numbers of the first and the last entry of the audit log that it reports. */
  readonly from: number;
  readonly to: number;
  readonly count: number;
  readonly users: readonly string[];
  /** What was done, each in words; the first of them. */
  readonly what: readonly string[];
}

export const configurationChanged = alertClass<ChangedArgs>({
  class: 'configuration.changed',
  severity: () => 'info',
  title: ({ count, users, what }) =>
    count === 1
      ? `${users[0]} ${what[0]}`
      : `${enumerate(users)} changed the configuration (${plural(count, 'change')})`,
  text: ({ count, what, users }) =>
    `${enumerate(users)}: ${what.join('; ')}${count > what.length ? `; and ${count - what.length} more` : ''}.`,
  impact: () => 'The appliance works as it is configured now.',
  response: () => 'Each change is in the audit log, with who made it, from where, and what was there before.',
  action: () => 'Nothing, if you know of it. Otherwise ask the users named.',
  page: () => '/alerts/log',
  labels: ({ users }) => ({ user: users.join(', ') }),
  dedupKey: ({ from, to }) => `configuration.changed/${from}-${to}`,
  example: { from: 17, to: 19, count: 1, users: ['ada'], what: ['changed the rule “Egress”'] },
  dedupExample: 'configuration.changed/17-19',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
  transient: true,
  // Whoever made the change knows of it; those who want to watch have it sent.
  muted: true,
});

export const alertClasses = [configurationChanged] as const;
