// Reports objectives whose budget is used up too fast, as they were measured last.
import type { Conditions } from '../../alerting/alerts/index.ts';
import type { AlertClass } from '../../alerting/catalogue/alert-class.ts';
import type { Watch } from '../../poller/poller.ts';
import { type BurnArgs, objectiveBurning, objectiveSlipping } from './alerts.ts';
import type { Objectives } from './objectives.ts';
import type { Objective } from './schema.ts';
import { type Burn, burning, FAST, SLOW } from './standing.ts';

function tooFast(objectives: readonly Objective[], rates: readonly Burn[]): { args: BurnArgs }[] {
  return objectives.flatMap(({ id, name, periodDays, standing }) => {
    const burn = standing === null ? undefined : burning(standing, rates, periodDays);
    if (standing === null || burn === undefined) return [];
    const rate = standing.burns.find(({ seconds }) => seconds === burn.seconds)?.rate ?? burn.rate;
    return [{ args: { objectiveId: id, name, sentence: standing.sentence, rate, seconds: burn.seconds } }];
  });
}

export function objectiveWatch(parts: {
  objectives: Pick<Objectives, 'list'>;
  conditions: Pick<Conditions, 'report' | 'active'>;
}): Watch {
  const { objectives, conditions } = parts;
  const report = (kind: AlertClass<BurnArgs>, all: readonly Objective[], rates: readonly Burn[]) => {
    // After a start nothing may be known of one that has an alert: nothing is cleared before it is.
    const unknown = all.some(
      ({ id, name, standing }) =>
        standing === null && conditions.active(kind, { objectiveId: id, name, sentence: '', rate: 0, seconds: 0 }),
    );
    if (!unknown) conditions.report(kind, tooFast(all, rates));
  };
  return {
    look: async () => () => {
      const all = objectives.list();
      report(objectiveBurning, all, FAST);
      report(objectiveSlipping, all, SLOW);
    },
  };
}
