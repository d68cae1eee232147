// A pool that will be full soon, from the trend of the last day.
import type { Conditions } from '../../alerting/alerts/index.ts';
import type { Storaged } from '../../peers/storaged.ts';
import { poolFilling } from './alerts.ts';

const DAY_S = 86_400;
/** tracerd measures it always, in percent of a pool's capacity. */
const CAPACITY = 'cistern_capacity_percent{dataset="capacity.percent[pool]"}';
/** The trend is that of a day, of which at least half was measured: an hour's copying is no trend. */
const TREND = `deriv(${CAPACITY}[1d]) and (count_over_time(${CAPACITY}[1d]) >= ${DAY_S / 2})`;
/** Sooner than this is worth an alert. */
export const SOON_DAYS = 14;
/** A pool that was just made fills quickly at first. */
const EMPTY_PERCENT = 30;

export async function lookAtTrend(storaged: Pick<Storaged, 'query'>, conditions: Conditions): Promise<void> {
  const [now, trends] = [await storaged.query(CAPACITY), await storaged.query(TREND)];
  conditions.report(
    poolFilling,
    now.flatMap(({ labels, value: percent }) => {
      const pool = labels.pool ?? '';
      const perSecond = trends.find((one) => one.labels.pool === pool)?.value ?? 0;
      const days = (100 - percent) / perSecond / DAY_S;
      if (pool === '' || !(perSecond > 0) || percent < EMPTY_PERCENT || !(days < SOON_DAYS)) return [];
      return [{ args: { pool, percent, days } }];
    }),
  );
}
