// The alerts that this domain can raise: what the pages, the mails and the traps say of each.

import { alertClass } from '../../alerting/catalogue/alert-class.ts';
import type { Severity } from '../../alerting/catalogue/severity.ts';
import { serviceFact } from '../../platform/service-facts.ts';

export interface ServiceArgs {
  readonly service: string;
  readonly title: string;
  readonly reason: string | null;
  /** The pool that holds the telemetry, if the service needs it. */
  readonly pool: string | null;
}

/** Without these the appliance still does what it is for. */
const MINOR = ['snmpd', 'supportd', 'gatherd', 'replicd', 'tracerd'];

export const ofService = ({ service }: { service: string }): Severity =>
  MINOR.includes(service) ? 'warning' : 'critical';

export const serviceFailed = alertClass<ServiceArgs>({
  class: 'service.failed',
  severity: ofService,
  severities: ['critical', 'warning'],
  title: ({ title, service }) => `${title} (${service}) has failed`,
  text: ({ title, service, reason }) =>
    `${title} (${service}) is not running and is not being restarted.${reason === null ? '' : ` ${reason}`}`,
  impact: ({ service }) => serviceFact(service)?.impact ?? 'What the service does is not being done.',
  response: () => 'It was restarted several times without success. The other services go on.',
  action: ({ title }) => `Restart ${title} on the Services page. If it fails again, make a support bundle.`,
  page: () => '/services',
  labels: ({ service }) => ({ service }),
  dedupKey: ({ service }) => `service.failed/${service}`,
  example: { service: 'storaged', title: 'Telemetry store', reason: null, pool: 'tank' },
  dedupExample: 'service.failed/storaged',
  dependsOn: ({ pool: name }) => (name === null ? [] : [`pool.faulted/${name}`, `pool.suspended/${name}`]),
  // One poll of the services: a restart that is under way is not a failure.
  visibleAfterSeconds: 10,
});

export interface RestartingArgs {
  readonly service: string;
  readonly title: string;
  readonly reason: string | null;
  /** The pool that holds the telemetry, if the service needs it. */
  readonly pool: string | null;
}

export const serviceRestarting = alertClass<RestartingArgs>({
  class: 'service.restarting',
  severity: ofService,
  severities: ['critical', 'warning'],
  title: ({ title, service }) => `${title} (${service}) ends repeatedly`,
  text: ({ title, service, reason }) =>
    `${title} (${service}) was started again three times or more within five minutes.${reason === null ? '' : ` ${reason}`}`,
  impact: ({ service }) => serviceFact(service)?.impact ?? 'What the service does is done with interruptions at best.',
  response: () => 'It is restarted each time, without limit. This alert ends when it has run for five minutes.',
  action: ({ title }) =>
    `Read on the Services page what the log of ${title} says before each end. If that does not help, make a support bundle.`,
  page: () => '/services',
  labels: ({ service }) => ({ service }),
  dedupKey: ({ service }) => `service.restarting/${service}`,
  example: { service: 'storaged', title: 'Telemetry store', reason: null, pool: 'tank' },
  dedupExample: 'service.restarting/storaged',
  dependsOn: ({ service, pool: name }) => [
    `service.failed/${service}`,
    ...(name === null ? [] : [`pool.faulted/${name}`, `pool.suspended/${name}`]),
  ],
  visibleAfterSeconds: 0,
});

export const alertClasses = [serviceFailed, serviceRestarting] as const;
