// How long it took until somebody was told, took charge, and until it was over: by class and month. Alerts that were raised
// together are one, as for those who work on them.
import type { Clock } from '../../base/clock.ts';
import type { Database } from '../../state/database.ts';
import type { AlertTimes } from './groups-schema.ts';

/** All alerts of 400 days are read: a page that is open is not a reason to do so each time something is raised. */
const FRESH_MS = 30_000;

interface Burst {
  readonly class: string;
  readonly month: string;
  readonly alerts: number;
  readonly told: number | null;
  readonly acknowledged: number | null;
  readonly cleared: number | null;
}

/** Seconds within which so many hundredths of them were done, by the nearest rank; null: of none. */
function within(sorted: readonly number[], hundredths: number): number | null {
  const rank = Math.ceil((sorted.length * hundredths) / 100);
  return sorted[Math.max(1, rank) - 1] ?? null;
}

function spread(bursts: readonly Burst[], of: 'told' | 'acknowledged' | 'cleared'): AlertTimes['told'] {
  const took = bursts.flatMap((one) => (one[of] === null ? [] : [one[of] / 1000])).sort((a, b) => a - b);
  return { count: took.length, medianSeconds: within(took, 50), p90Seconds: within(took, 90) };
}

const timesOf = (month: string, name: string | null, bursts: readonly Burst[]): AlertTimes => ({
  ...{ month, class: name, bursts: bursts.length, alerts: bursts.reduce((sum, one) => sum + one.alerts, 0) },
  told: spread(bursts, 'told'),
  acknowledged: spread(bursts, 'acknowledged'),
  cleared: spread(bursts, 'cleared'),
});

export class Times {
  readonly #db: Database;
  readonly #clock: Clock;
  #known: { at: number; times: AlertTimes[] } | null = null;

  constructor(db: Database, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  /** Months, the newest first, each with all of its classes together and then each class, most bursts first. */
  list(): AlertTimes[] {
    const now = this.#clock.monotonic();
    if (this.#known !== null && now - this.#known.at < FRESH_MS) return this.#known.times;
    const months = Map.groupBy(this.#bursts(), ({ month }) => month);
    const times = [...months]
      .sort(([a], [b]) => b.localeCompare(a))
      .flatMap(([month, bursts]) => {
        const classes = [...Map.groupBy(bursts, (one) => one.class)].map(([name, own]) => timesOf(month, name, own));
        return [timesOf(month, null, bursts), ...classes.sort((a, b) => b.bursts - a.bursts)];
      });
    this.#known = { at: now, times };
    return times;
  }

  #bursts(): Burst[] {
    const told = new Map(
      this.#db
        .all(
          `SELECT alerts.group_number AS burst, min(deliveries.at) AS at FROM deliveries JOIN alerts ON alerts.id = deliveries.alert_id
           WHERE deliveries.state = 'delivered' AND deliveries.event <> 'clear' GROUP BY alerts.group_number`,
        )
        .map(({ burst, at }) => [burst as number, at as number]),
    );
    // A withdrawn acknowledgement is none. A burst is over when the last of its alerts is.
    return this.#db
      .all(
        `SELECT group_number AS burst, min(class) AS class, count(*) AS alerts, min(raised_at) AS raised,
           strftime('%Y-%m', min(raised_at) / 1000, 'unixepoch') AS month, min(acknowledged_at) AS acknowledged,
           CASE WHEN count(cleared_at) = count(*) THEN max(cleared_at) END AS cleared
         FROM alerts GROUP BY group_number`,
      )
      .map((row) => {
        const raised = row.raised as number;
        // A clock that was set back makes no time negative.
        const after = (at: unknown) => (typeof at === 'number' ? Math.max(0, at - raised) : null);
        return {
          ...{ class: row.class as string, month: row.month as string, alerts: row.alerts as number },
          told: after(told.get(row.burst as number)),
          acknowledged: after(row.acknowledged),
          cleared: after(row.cleared),
        };
      });
  }
}
