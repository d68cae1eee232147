// What goes wrong slowly: a pool that will be full, a certificate that will expire. Looked at once an hour; a look that
// fails changes nothing, and is repeated after a minute: at boot the others may not be up yet.

import type { Conditions } from '../../alerting/alerts/conditions.ts';
import { certificateExpiring, poolFilling } from '../../alerting/catalogue/catalogue.ts';
import type { Clock } from '../../clock.ts';
import { asProblem } from '../../http/problems/problem.ts';
import type { Log } from '../../log.ts';
import type { Storaged } from '../../peers/storaged.ts';

const HOUR_MS = 3_600_000;
const AGAIN_MS = 60_000;
const DAY_S = 86_400;
/** tracerd measures it always, in percent of a pool's capacity. */
const CAPACITY = 'cistern_capacity_percent{dataset="capacity.percent[pool]"}';
/** The trend is that of a day, of which at least half was measured: an hour's copying is no trend. */
const TREND = `deriv(${CAPACITY}[1d]) and (count_over_time(${CAPACITY}[1d]) >= ${DAY_S / 2})`;
/** Sooner than this is worth saying. */
export const SOON_DAYS = 14;
/** A pool that was just made fills quickly at first. */
const EMPTY_PERCENT = 30;
export const CERTIFICATE_SOON_DAYS = 30;

export interface UpkeepParts {
  readonly clock: Clock;
  readonly conditions: Conditions;
  readonly storaged: Pick<Storaged, 'query'>;
  /** When the certificate ends that browsers are shown (ms), and whom it names. */
  readonly certificate: () => Promise<{ validTo: number; names: string }>;
  readonly log: Log;
}

export class Upkeep {
  readonly #parts: UpkeepParts;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: UpkeepParts) {
    this.#parts = parts;
  }

  start(afterMs = 0): void {
    this.#timer = setTimeout(async () => {
      const whole = await this.look();
      if (this.#timer !== undefined) this.start(whole ? HOUR_MS : AGAIN_MS);
    }, afterMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Returns whether both could be looked at. */
  async look(): Promise<boolean> {
    const { log } = this.#parts;
    const looked = (what: string, look: Promise<void>) =>
      look.then(
        () => true,
        (error: unknown) => {
          log.info(what, { error: asProblem(error).detail });
          return false;
        },
      );
    const pools = await looked('how soon pools are full is not known', this.#lookAtPools());
    const certificate = await looked('when the certificate ends is not known', this.#lookAtCertificate());
    return pools && certificate;
  }

  async #lookAtPools(): Promise<void> {
    const { storaged, conditions } = this.#parts;
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

  async #lookAtCertificate(): Promise<void> {
    const { clock, conditions, certificate } = this.#parts;
    const { validTo, names } = await certificate();
    const days = (validTo - clock.now()) / (DAY_S * 1000);
    conditions.report(certificateExpiring, days < CERTIFICATE_SOON_DAYS ? [{ args: { names, validTo, days } }] : []);
  }
}
