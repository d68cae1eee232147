// Services that end again and again. A service manager that starts them each time (systemd's Restart=always without a
// limit, SMF's child services) never calls them failed, and between two ends they look well.
import type { Service } from '../../platform/service.ts';

/** Three in five minutes is no coincidence; one is an update, or a restart from elsewhere. */
const MANY = 3;
export const WITHIN_MS = 5 * 60_000;

export interface Restarting {
  readonly service: string;
  readonly title: string;
  /** Within the last five minutes, as far as it was looked at. */
  readonly restarts: number;
  readonly reason: string | null;
}

export class RestartWatch {
  readonly #known = new Map<string, { last: number; added: { at: number; count: number }[]; reason: string | null }>();

  /** That a service ended before this watch began, each time so many ms before `now`. */
  ended(name: string, ago: readonly number[], now: number): void {
    const added = ago.map((ms) => ({ at: now - ms, count: 1 }));
    // However many restarts its manager has counted by now: they are not reported.
    this.#known.set(name, { last: Number.POSITIVE_INFINITY, added, reason: null });
  }

  /** @param now ms of the monotonic clock. Returns those that were started again three times or more within five minutes. */
  look(services: readonly Service[], now: number): Restarting[] {
    return services.flatMap(({ name, title, restarts, reason }) => {
      const known = this.#known.get(name) ?? { last: restarts, added: [], reason: null };
      const added = known.added.filter(({ at }) => at > now - WITHIN_MS);
      // A number that went down was begun again, by a manual restart.
      if (restarts > known.last) added.push({ at: now, count: restarts - known.last });
      // What it said when it ended; while it runs there is nothing to say.
      this.#known.set(name, { last: restarts, added, reason: reason ?? known.reason });
      const count = added.reduce((sum, one) => sum + one.count, 0);
      return count >= MANY ? [{ service: name, title, restarts: count, reason: reason ?? known.reason }] : [];
    });
  }
}
