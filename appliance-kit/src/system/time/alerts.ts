// The alerts that this domain can raise: what the pages, the mails and the traps say of each.
import { alertClass } from '../../alerting/catalogue/alert-class.ts';

export interface DisputedArgs {
  /** Names of the servers whose time is not believed. */
  readonly servers: readonly string[];
  /** Nobody is believed: no majority says the same. */
  readonly nobody: boolean;
}

export const timeDisputed = alertClass<DisputedArgs>({
  class: 'time.disputed',
  severity: () => 'warning',
  title: ({ nobody }) => (nobody ? 'The time servers contradict each other' : 'A time server says another time'),
  text: ({ servers, nobody }) =>
    nobody
      ? `The time servers ${servers.join(', ')} contradict each other, and no majority of them agrees.`
      : `What ${servers.join(', ')} ${servers.length === 1 ? 'says' : 'say'} contradicts the other time servers.`,
  impact: ({ nobody }) =>
    nobody
      ? 'The clock follows none of them and drifts, by a few seconds a day at worst.'
      : 'None now: the majority is followed. It has one that is right less, though.',
  response: () => 'The appliance goes on asking all of them.',
  action: ({ nobody }) =>
    nobody
      ? 'Have the appliance ask at least three servers, better four: with two nobody can tell which one is wrong.'
      : 'See to the clock of that server, or take it out of the list of time servers.',
  page: () => '/maintenance/time',
  labels: () => ({}),
  dedupKey: () => 'time.disputed/clock',
  example: { servers: ['ntp1.example.org'], nobody: false },
  dedupExample: 'time.disputed/clock',
  dependsOn: () => [],
  // Some answers to each question, so that one late packet is none.
  visibleAfterSeconds: 300,
});

export const alertClasses = [timeDisputed] as const;
