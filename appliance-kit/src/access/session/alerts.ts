// The alerts that this domain can raise: what the pages, the mails and the traps say of each.
import { alertClass } from '../../alerting/catalogue/alert-class.ts';

export interface LockedOutArgs {
  /** The account that was guessed at. */
  readonly account: string;
  readonly address: string;
  readonly attempts: number;
  readonly at: string;
}

export const signInLocked = alertClass<LockedOutArgs>({
  class: 'signin.locked',
  severity: () => 'warning',
  title: ({ address }) => `Too many wrong passwords or codes from ${address}`,
  text: ({ account, address, attempts }) =>
    `${attempts} wrong passwords or codes for “${account}” came from ${address}, one after the other.`,
  impact: () => 'A user has forgotten a password, or someone is guessing.',
  response: () => 'Sign-ins to this account from that address are refused for a quarter of an hour.',
  action: () => 'If it was none of your users, find out who has that address, and block it.',
  page: () => '/alerts/log',
  labels: ({ account, address }) => ({ account, address }),
  dedupKey: ({ account, address, at }) => `signin.locked/${account}/${address}/${at}`,
  example: { account: 'admin', address: '192.0.2.7', attempts: 10, at: '2026-01-01T02:00:00.000Z' },
  dedupExample: 'signin.locked/admin/192.0.2.7/2026-01-01T02:00:00.000Z',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
  transient: true,
});

export const alertClasses = [signInLocked] as const;
