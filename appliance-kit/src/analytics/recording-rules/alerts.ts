// The alerts that this domain can raise: what the pages, the mails and the traps say of each.
import { alertClass } from '../../alerting/catalogue/alert-class.ts';
import { sentences } from '../../alerting/catalogue/words.ts';
import { plural } from '../../base/words.ts';

export interface RecordingFailingArgs {
  readonly ruleId: string;
  readonly ruleName: string;
  /** The store's own words. */
  readonly error: string;
}

export const recordingFailing = alertClass<RecordingFailingArgs>({
  class: 'recording.failing',
  severity: () => 'warning',
  title: ({ ruleName }) => `The recording rule ${ruleName} fails`,
  text: ({ ruleName, error }) => `${ruleName} records nothing: ${sentences(error)}`,
  impact: ({ ruleName }) =>
    `${ruleName} has a gap. Charts, thresholds and rules that read it show nothing, or what was recorded last.`,
  response: () => 'It is evaluated again at every interval.',
  action: () =>
    'Correct the rule: its page shows what is wrong. Then fill the gap with “Fill the past”. If it needs too much, have it read fewer series or a shorter time.',
  page: ({ ruleId }) => `/analytics/recording-rules/${ruleId}`,
  labels: ({ ruleName }) => ({ rule: ruleName }),
  dedupKey: ({ ruleId }) => `recording.failing/${ruleId}`,
  example: { ruleId: 'rr-0mi5x3k9f-3f9c2b7a10', ruleName: 'job:requests:rate5m', error: 'no answer' },
  dedupExample: 'recording.failing/rr-0mi5x3k9f-3f9c2b7a10',
  dependsOn: () => ['service.failed/storaged'],
  // A rule that is being written is wrong for a while.
  visibleAfterSeconds: 180,
});

export interface RecordingRefusedArgs {
  readonly ruleId: string;
  readonly ruleName: string;
  readonly samples: number;
  readonly detail: string;
}

export const recordingRefused = alertClass<RecordingRefusedArgs>({
  class: 'recording.refused',
  severity: () => 'warning',
  title: ({ ruleName }) => `Results of the recording rule ${ruleName} are refused`,
  text: ({ ruleName, samples, detail }) =>
    `The store did not take ${plural(samples, 'result')} of the last evaluation of ${ruleName}: ${sentences(detail)}`,
  impact: ({ ruleName }) => `${ruleName} lacks these series.`,
  response: () => 'The other results are stored, and the rule is evaluated again at every interval.',
  action: () =>
    'Have the rule give fewer series, by aggregating more labels, or remove series that nobody reads. If it gave another kind of value before, give the result a new name.',
  page: ({ ruleId }) => `/analytics/recording-rules/${ruleId}`,
  labels: ({ ruleName }) => ({ rule: ruleName }),
  dedupKey: ({ ruleId }) => `recording.refused/${ruleId}`,
  example: {
    ruleId: 'rr-0mi5x3k9f-3f9c2b7a10',
    ruleName: 'job:requests:rate5m',
    samples: 12,
    detail: 'there are 100 series already, which is the limit',
  },
  dedupExample: 'recording.refused/rr-0mi5x3k9f-3f9c2b7a10',
  dependsOn: () => ['store.refusing/storaged'],
  visibleAfterSeconds: 60,
});

export const alertClasses = [recordingFailing, recordingRefused] as const;
