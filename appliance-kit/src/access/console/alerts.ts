// The alerts that this domain can raise: what the pages, the mails and the traps say of each.
import { alertClass } from '../../alerting/catalogue/alert-class.ts';
import { plural } from '../../base/words.ts';

export interface LetInArgs {
  readonly user: string;
  /** Which screen or serial port. */
  readonly console: string;
  /** Of the request: there is one alert of each. */
  readonly id: string;
  readonly factors: number;
  readonly wasDisabled: boolean;
}

export const letInAtConsole = alertClass<LetInArgs>({
  class: 'signin.recovered',
  severity: () => 'warning',
  title: ({ user, console }) => `${user} was let in again at the console ${console}`,
  text: ({ user, console, factors, wasDisabled }) =>
    `Somebody at the console ${console} gave the administrator ${user} a one-time password. ${plural(factors, 'second factor')} and the recovery codes were removed, all sessions of ${user} have ended${wasDisabled ? ', and the account, which was disabled, is enabled' : ''}.`,
  impact: ({ user }) => `Whoever was at the console can sign in as ${user}.`,
  response: () =>
    'It is in the audit log. The one-time password is good for a week and must be changed at the first sign-in.',
  action: ({ user }) =>
    `Nothing, if ${user} asked for it. Otherwise disable the account, and find out who had access to the machine or its hypervisor.`,
  page: ({ user }) => `/settings/users/${user}`,
  labels: ({ user, console }) => ({ user, console }),
  dedupKey: ({ user, id }) => `signin.recovered/${user}/${id}`,
  example: { user: 'ada', console: 'tty1', id: '0f8fad5bd9cb469fa165708677289502', factors: 2, wasDisabled: false },
  dedupExample: 'signin.recovered/ada/0f8fad5bd9cb469fa165708677289502',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
  transient: true,
});

export const alertClasses = [letInAtConsole] as const;
