// The alerts that this domain can raise: what the pages, the mails and the traps say of each.
import { alertClass } from '../../alerting/catalogue/alert-class.ts';
import { inDays } from '../../alerting/catalogue/words.ts';

export interface ExpiringTokenArgs {
  readonly id: string;
  readonly name: string;
  readonly owner: string | null;
  readonly expiresAt: string;
  readonly days: number;
  readonly lastUsedFrom: string | null;
}

export const tokenExpiring = alertClass<ExpiringTokenArgs>({
  class: 'token.expiring',
  severity: () => 'warning',
  title: ({ name, days }) => `The API token “${name}” expires ${inDays(days)}`,
  text: ({ name, owner, expiresAt, lastUsedFrom }) =>
    `The API token “${name}”${owner === null ? '' : ` of ${owner}`} is good until ${expiresAt.slice(0, 10)}.` +
    (lastUsedFrom === null ? ' It was never used.' : ` It was last used from ${lastUsedFrom}.`),
  impact: () => 'From then on the program that uses it is refused; what it sends is lost unless it keeps it.',
  response: () => 'Nothing is done until then.',
  action: () => 'Give the program a new token, or let this one last longer.',
  page: () => '/settings/tokens',
  labels: ({ name }) => ({ token: name }),
  dedupKey: ({ id }) => `token.expiring/${id}`,
  example: {
    id: 'tk-1',
    name: 'prometheus-berlin',
    owner: 'ada',
    expiresAt: '2026-01-20T00:00:00.000Z',
    days: 9.5,
    lastUsedFrom: '192.0.2.7',
  },
  dedupExample: 'token.expiring/tk-1',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
});

export const alertClasses = [tokenExpiring] as const;
