// The alerts that this domain can raise: what the pages, the mails and the traps say of each.
import { alertClass } from '../../alerting/catalogue/alert-class.ts';
import { sentences } from '../../alerting/catalogue/words.ts';
import { plural } from '../../base/words.ts';

export interface OutputFailingArgs {
  readonly id: string;
  readonly output: string;
  /** It cannot run with its settings; otherwise its receiver does not take what is sent. */
  readonly invalid: boolean;
  readonly why: string;
  /** How much of the journal may wait, in MiB. */
  readonly lagMiB: number;
}

export const outputFailing = alertClass<OutputFailingArgs>({
  class: 'output.failing',
  severity: () => 'warning',
  title: ({ output }) => `The output ${output} does not deliver`,
  text: ({ output, invalid, why }) =>
    invalid
      ? sentences(`The output ${output} cannot run with its settings: ${why}`)
      : sentences(`The receiver of the output ${output} does not take what is sent: ${why}`),
  impact: ({ invalid, lagMiB }) =>
    invalid
      ? 'Nothing is sent, and nothing waits to be sent.'
      : `Samples arrive there late. What waits is kept up to ${lagMiB} MiB of the journal; beyond that the oldest is skipped.`,
  response: ({ invalid }) =>
    invalid
      ? 'It stays as it is until its settings are changed. The samples are stored here as ever.'
      : 'It is tried again, at growing intervals, and everything that waits is sent when the receiver takes it.',
  action: ({ invalid }) =>
    invalid
      ? 'Correct the settings of the output.'
      : 'See whether the receiver runs and can be reached, and whether address and secret are right: “Test” on the page of the output prints its answer. If it is gone for good, remove the output or switch it off.',
  page: ({ id }) => `/analytics/outputs/${id}`,
  labels: ({ output }) => ({ output }),
  dedupKey: ({ id }) => `output.failing/${id}`,
  example: {
    ...{ id: 'out_1', output: 'Central store', invalid: false, lagMiB: 1024 },
    why: 'the receiver answered 503 Service Unavailable: it said nothing more',
  },
  dedupExample: 'output.failing/out_1',
  dependsOn: () => [],
  // A receiver that is started again takes its time.
  visibleAfterSeconds: 30,
});

export interface OutputSkippedArgs {
  readonly id: string;
  readonly output: string;
  readonly samples: number;
  /** The times of the samples that were skipped, in words. */
  readonly span: string;
  readonly lagMiB: number;
}

export const outputSkipped = alertClass<OutputSkippedArgs>({
  class: 'output.skipped',
  severity: () => 'warning',
  title: ({ output }) => `The output ${output} skipped samples`,
  text: ({ output, samples, span, lagMiB }) =>
    `More than ${lagMiB} MiB of the journal waited for the output ${output}, so the oldest ${plural(samples, 'sample')} (${span}) were not sent.`,
  impact: () => 'The receiver lacks these samples. They are stored here.',
  response: () => 'What came later is sent. The alert ends an hour after the last sample was skipped.',
  action: () =>
    'See why the receiver takes less than arrives here. Send fewer series by a filter, or let more wait, if the disk has room for it.',
  page: ({ id }) => `/analytics/outputs/${id}`,
  labels: ({ output }) => ({ output }),
  dedupKey: ({ id }) => `output.skipped/${id}`,
  example: {
    ...{ id: 'out_1', output: 'Central store', samples: 120_000, lagMiB: 1024 },
    span: '2026-01-01 00:00 to 2026-01-01 01:10 UTC',
  },
  dedupExample: 'output.skipped/out_1',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
});

export interface OutputRefusedArgs {
  readonly id: string;
  readonly output: string;
  readonly samples: number;
  readonly words: string;
}

export const outputRefused = alertClass<OutputRefusedArgs>({
  class: 'output.refused',
  severity: () => 'warning',
  title: ({ output }) => `The receiver of the output ${output} refuses samples`,
  text: ({ output, samples, words }) =>
    sentences(
      `The receiver of the output ${output} has refused ${plural(samples, 'sample')} for good since storaged started. It said: ${words}`,
    ),
  impact: () => 'The receiver lacks these samples. They are stored here.',
  response: () => 'They are not sent again; all others are. The alert ends an hour after the last was refused.',
  action: () =>
    'Do what the receiver’s words ask for, as raising its limits, or leave such series out by the filter of the output.',
  page: ({ id }) => `/analytics/outputs/${id}`,
  labels: ({ output }) => ({ output }),
  dedupKey: ({ id }) => `output.refused/${id}`,
  example: { id: 'out_1', output: 'Central store', samples: 12, words: '400 Bad Request: out of order sample' },
  dedupExample: 'output.refused/out_1',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
});

export const alertClasses = [outputFailing, outputSkipped, outputRefused] as const;
