// Turns states that are looked at again and again (a pool is degraded, a service has failed) into alerts: raised when
// a state has lasted, cleared when it is gone.

import type { Clock } from '../../base/clock.ts';
import type { AlertClass } from '../catalogue/alert-class.ts';
import type { Alerts, Raise } from './alerts.ts';

export class Conditions {
  readonly #alerts: Alerts;
  readonly #clock: Clock;
  /** When each state was first seen, by the monotonic clock: a clock that is set must not make a state old. */
  readonly #since = new Map<string, number>();

  constructor(alerts: Alerts, clock: Clock) {
    this.#alerts = alerts;
    this.#clock = clock;
  }

  /** For what is raised above one limit and cleared below another: true while it is an alert, also after a restart. */
  active<Args>(kind: AlertClass<Args>, args: Args): boolean {
    return this.#alerts.activeByKey(kind.dedupKey(args)) !== undefined;
  }

  /**
   * All the present conditions of one class; what is active and not among them is cleared. Call it only with a
   * reading that succeeded: not knowing is no reason to clear.
   */
  report<Args>(kind: AlertClass<Args>, present: readonly Omit<Raise<Args>, 'kind'>[]): void {
    const now = this.#clock.monotonic();
    const keys = new Set(present.map(({ args }) => kind.dedupKey(args)));
    for (const { id, key } of this.#alerts.activeOfClass(kind.class)) {
      if (!keys.has(key)) this.#alerts.clear(id);
    }
    for (const key of this.#since.keys()) {
      if (key.startsWith(`${kind.class}/`) && !keys.has(key)) this.#since.delete(key);
    }
    for (const one of present) {
      const key = kind.dedupKey(one.args);
      const since = this.#since.get(key) ?? now;
      this.#since.set(key, since);
      if (now - since >= kind.visibleAfterSeconds * 1000) this.#alerts.raise({ ...one, kind });
    }
  }
}
