// The alert that this domain can raise: what the pages, the mails and the traps say of it.
import { alertClass } from '../../alerting/catalogue/alert-class.ts';
import { duration } from '../../base/words.ts';

export interface HostSilentArgs {
  readonly host: string;
  /** ISO 8601. */
  readonly since: string;
  /** How often it usually sends. */
  readonly intervalSeconds: number;
}

export const hostSilent = alertClass<HostSilentArgs>({
  class: 'host.silent',
  severity: () => 'warning',
  title: ({ host }) => `The host ${host} is silent`,
  text: ({ host, since, intervalSeconds }) =>
    `${host} sends something every ${duration(intervalSeconds)} as a rule; it was heard of last at ${since}.`,
  impact: () =>
    'Nothing is known of the host since then. Rules over its series do not fire, except those that watch for missing data.',
  response: () => 'The alert ends when the host sends again, or is retired.',
  action: () =>
    'See whether the host runs and reaches the appliance, and whether its agent runs. When it is gone for good, retire it on its page.',
  page: ({ host }) => `/hosts/${encodeURIComponent(host)}`,
  labels: ({ host }) => ({ host }),
  dedupKey: ({ host }) => `host.silent/${host}`,
  example: { host: 'web17', since: '2026-01-01T00:00:00Z', intervalSeconds: 10 },
  dedupExample: 'host.silent/web17',
  dependsOn: () => [],
  // A host is absent only after three of its intervals: that is long enough.
  visibleAfterSeconds: 30,
  // Where hosts come and go by themselves, one that has gone is no trouble.
  muted: true,
  optional: true,
});

export const alertClasses = [hostSilent] as const;
