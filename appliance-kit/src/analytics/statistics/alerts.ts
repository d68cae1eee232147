// The alerts that this domain can raise: what the pages, the mails and the traps say of each.
import { alertClass } from '../../alerting/catalogue/alert-class.ts';

export interface StatisticStoppedArgs {
  /** The dataset's canonical name. */
  readonly statistic: string;
  /** Tracing took too much of the processor; otherwise it failed. */
  readonly overBudget: boolean;
  /** A sentence. */
  readonly why: string;
}

export const statisticStopped = alertClass<StatisticStoppedArgs>({
  class: 'statistic.stopped',
  severity: () => 'warning',
  title: ({ statistic, overBudget }) =>
    overBudget ? `The statistic ${statistic} was suspended` : `The statistic ${statistic} cannot be measured`,
  text: ({ why }) => why,
  impact: () => 'Its charts have a gap from then on; thresholds over it see no data.',
  response: ({ overBudget }) =>
    overBudget
      ? 'It stays suspended, so that measuring does not slow down what is measured. The other statistics go on.'
      : 'It is retried automatically, with growing intervals.',
  action: ({ overBudget }) =>
    overBudget
      ? 'Filter it or break it down less, then resume it on the page Recorded datasets; or destroy it.'
      : 'The page Recorded datasets has the reason. Stop recording it if this machine cannot measure it.',
  page: () => '/analytics/datasets',
  labels: ({ statistic }) => ({ statistic }),
  dedupKey: ({ statistic }) => `statistic.stopped/${statistic}`,
  example: {
    statistic: 'io.ops[process]',
    overBudget: true,
    why: 'Tracing took 60 % of a processor over the last minute, 50 % is the budget.',
  },
  dedupExample: 'statistic.stopped/io.ops[process]',
  dependsOn: () => [],
  // A program that is started again takes its time.
  visibleAfterSeconds: 30,
});

export const alertClasses = [statisticStopped] as const;
