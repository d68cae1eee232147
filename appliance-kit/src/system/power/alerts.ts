// The alerts that this domain can raise: what the pages, the mails and the traps say of each.
import { alertClass } from '../../alerting/catalogue/alert-class.ts';
import { DONE, type PowerAction } from './schema.ts';

export interface InterruptedArgs {
  readonly hostName: string;
  readonly bootId: string;
  /** ISO 8601. */
  readonly aliveAt: string;
}

export const applianceInterrupted = alertClass<InterruptedArgs>({
  class: 'appliance.interrupted',
  severity: () => 'warning',
  title: ({ hostName }) => `${hostName} was interrupted`,
  text: ({ hostName, aliveAt }) =>
    `The appliance ${hostName} has started again without having been shut down. It was seen to run last at ${aliveAt}.`,
  impact: () =>
    'From then until it had started nothing was measured. What had been acknowledged was read back from the journal.',
  response: () =>
    'All services are started automatically, and what they had not finished is gone on with or begun again.',
  action: () =>
    'Find out whether its power was cut, somebody reset it, or its system crashed: the log before that moment, the event log of the management controller under Hardware, and crashes under Maintenance say more. A power supply that is backed up by a battery lets it shut down in order.',
  page: () => '/maintenance/power',
  labels: ({ hostName }) => ({ host: hostName }),
  dedupKey: ({ bootId }) => `appliance.interrupted/${bootId}`,
  example: {
    ...{ hostName: 'metrics1', bootId: '5f1c9a52-77c5-4d6e-9d0d-2f6f7b2b8f11' },
    aliveAt: '2026-01-01T02:00:00.000Z',
  },
  dedupExample: 'appliance.interrupted/5f1c9a52-77c5-4d6e-9d0d-2f6f7b2b8f11',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
  transient: true,
});

export interface MissedArgs {
  readonly hostName: string;
  readonly action: PowerAction;
  readonly at: string;
  readonly by: string;
  readonly why: string;
}

export const powerMissed = alertClass<MissedArgs>({
  class: 'power.missed',
  severity: () => 'warning',
  title: ({ hostName, action }) => `${hostName} was not ${DONE[action]} as planned`,
  text: ({ action, at, by, why }) => `${by} had planned that it is ${DONE[action]} at ${at}. It was not: ${why}.`,
  impact: () => 'The appliance runs on as before.',
  response: () => 'The plan is dropped; it is not done later.',
  action: () => 'Plan it again, or do it now, under Maintenance → Power.',
  page: () => '/maintenance/power',
  labels: ({ hostName }) => ({ host: hostName }),
  dedupKey: ({ at }) => `power.missed/${at}`,
  example: {
    ...{ hostName: 'metrics1', action: 'reboot', at: '2026-01-01T02:00:00.000Z', by: 'admin' },
    why: 'its time was 3 hours ago when the appliance could look',
  },
  dedupExample: 'power.missed/2026-01-01T02:00:00.000Z',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
  transient: true,
});

export const alertClasses = [applianceInterrupted, powerMissed] as const;
