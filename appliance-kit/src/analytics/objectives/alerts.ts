// The alerts that this domain can raise: what the pages, the mails and the traps say of each.
import { alertClass } from '../../alerting/catalogue/alert-class.ts';
import { duration, figure } from '../../base/words.ts';

export interface BurnArgs {
  readonly objectiveId: string;
  readonly name: string;
  /** How it stands. */
  readonly sentence: string;
  /** 1: the budget lasts exactly for the period. */
  readonly rate: number;
  readonly seconds: number;
}

const text = ({ sentence, rate, seconds }: BurnArgs) =>
  `In the last ${duration(seconds)} the budget was used up ${figure(Number(rate.toPrecision(3)))} times as fast as it may be. ${sentence}`;
const words = {
  impact: ({ name }: BurnArgs) => `If it goes on so, ${name} is missed before its period is over.`,
  response: () => 'It is measured again every minute. The alert ends when the last minutes to hours are well.',
  action: () =>
    'See on the page of the objective since when measurements are beyond the limit, and ask there Why these? in Explore. When the limit or the target is wrong, change the objective.',
  page: ({ objectiveId }: BurnArgs) => `/analytics/objectives/${objectiveId}`,
  labels: ({ name }: BurnArgs) => ({ objective: name }),
  dependsOn: () => ['service.failed/storaged'],
  visibleAfterSeconds: 0,
};
const example = {
  objectiveId: 'ob-0mi5x3k9f-3f9c2b7a10',
  name: 'Checkout is quick',
  sentence: '99 % under 300 ms in 28 days: 98.7 %; 12,400 of 954,000 too slow, 2,860 over budget.',
};

export const objectiveBurning = alertClass<BurnArgs>({
  class: 'objective.burning',
  severity: () => 'critical',
  title: ({ name }) => `${name}: the budget is used up within days`,
  text,
  ...words,
  dedupKey: ({ objectiveId }) => `objective.burning/${objectiveId}`,
  example: { ...example, rate: 16.2, seconds: 3600 },
  dedupExample: 'objective.burning/ob-0mi5x3k9f-3f9c2b7a10',
});

export const objectiveSlipping = alertClass<BurnArgs>({
  class: 'objective.slipping',
  severity: () => 'warning',
  title: ({ name }) => `${name}: the budget does not last for the period`,
  text,
  ...words,
  dedupKey: ({ objectiveId }) => `objective.slipping/${objectiveId}`,
  dependsOn: ({ objectiveId }) => ['service.failed/storaged', `objective.burning/${objectiveId}`],
  example: { ...example, rate: 6.4, seconds: 21_600 },
  dedupExample: 'objective.slipping/ob-0mi5x3k9f-3f9c2b7a10',
});

export const alertClasses = [objectiveBurning, objectiveSlipping] as const;
