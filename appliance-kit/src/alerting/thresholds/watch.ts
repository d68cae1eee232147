// Rules that cannot be evaluated.
import type { Watch } from '../../poller/poller.ts';
import type { Conditions } from '../alerts/index.ts';
import { thresholdFailing } from './alerts.ts';
import type { Thresholds } from './thresholds.ts';

export function thresholdWatch(parts: { thresholds: Pick<Thresholds, 'failing'>; conditions: Conditions }): Watch {
  const { thresholds, conditions } = parts;
  return {
    look: async () => () =>
      conditions.report(
        thresholdFailing,
        thresholds.failing().map((args) => ({ args })),
      ),
  };
}
