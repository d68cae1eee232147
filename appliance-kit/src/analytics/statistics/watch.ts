// Statistics that are not measured although they should be.
import type { Conditions } from '../../alerting/alerts/index.ts';
import type { Tracerd } from '../../peers/tracerd.ts';
import type { Watch } from '../../poller/poller.ts';
import { statisticStopped } from './alerts.ts';

/** One that hangs must not keep the next look at the pools waiting. */
const TRACERD_MS = 1_000;

export function statisticWatch({ tracerd, conditions }: { tracerd: Tracerd; conditions: Conditions }): Watch {
  return {
    look: async () => {
      const measured = await tracerd.datasets(TRACERD_MS);
      return () => {
        // What a user suspended is intended, and what is not recorded shows its state on its chart.
        const stopped = measured.filter(
          ({ overBudget, recorded, state }) => overBudget || (recorded && state === 'failed'),
        );
        conditions.report(
          statisticStopped,
          stopped.map(({ name, overBudget, reason }) => ({
            args: { statistic: name, overBudget, why: reason ?? 'tracerd does not say why.' },
          })),
        );
      };
    },
  };
}
