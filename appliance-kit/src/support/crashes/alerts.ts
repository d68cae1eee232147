// The alerts that this domain can raise: what the pages, the mails and the traps say of each.
import { alertClass } from '../../alerting/catalogue/alert-class.ts';
import { serviceFact } from '../../platform/service-facts.ts';

export interface CrashedArgs {
  /** What supportd knows the crash by from the moment it happened. */
  readonly id: string;
  readonly service: string;
  readonly title: string;
  readonly process: string;
  readonly signal: string | undefined;
  readonly reason: string | undefined;
  readonly count: number;
  /** Its core is being taken: where it stood is not known yet. */
  readonly recording: boolean;
}

export const processCrashed = alertClass<CrashedArgs>({
  class: 'process.crashed',
  severity: () => 'warning',
  title: ({ title, process }) => `${title} (${process}) has crashed`,
  text: ({ title, process, signal, reason, count, recording }) =>
    recording
      ? `${title} (${process}) was ended by a signal a moment ago. Where it stood is being recorded.`
      : `${title} (${process}) ended ${signal ? `by ${signal}` : 'by an error that nothing handled'}${count > 1 ? `, ${count} times so far` : ''}.${reason ? ` It said: “${reason}”.` : ''}`,
  impact: ({ service }) => serviceFact(service)?.impact ?? 'What it does was not done until it was started again.',
  response: () => 'It is restarted automatically. Its stacks and its last log lines are kept as a crash record.',
  action: () =>
    'Make a support bundle and send it in. Dismiss the crash on the page Maintenance; this alert then ends.',
  page: () => '/maintenance/crashes',
  labels: ({ service, process }) => ({ service, process }),
  dedupKey: ({ id }) => `process.crashed/${id}`,
  example: {
    id: 'ss-0mi5x3k9f-3f9c2b7a10',
    service: 'storaged',
    title: 'Telemetry store',
    process: 'storaged',
    signal: undefined,
    reason: undefined,
    count: 1,
    recording: false,
  },
  dedupExample: 'process.crashed/ss-0mi5x3k9f-3f9c2b7a10',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
});

export const alertClasses = [processCrashed] as const;
