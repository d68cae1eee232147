// Ten wrong guesses for one account from one address, and that pair waits a quarter of an hour. Kept on disk: a
// restart is no way around it.
import type { Clock } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import type { Database } from '../../state/database.ts';

export const MAX_FAILURES = 10;
export const LOCKED_FOR_MS = 15 * 60 * 1000;

export type GuessKind = 'password' | 'setup-code';

export class Lockout {
  readonly #db: Database;
  readonly #clock: Clock;

  constructor(db: Database, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  /**
   * Counts a guess as failed *before* it is checked, so that a hundred sent at the same moment are not a hundred
   * free ones. Throws `locked_out` when there have been too many. `succeeded` takes it back. Returns whether it was the
   * last one: if it is wrong, the pair is locked out.
   */
  attempt(kind: GuessKind, account: string, address: string): boolean {
    const now = this.#clock.now();
    const failures = this.#db.transaction(() => {
      this.#db.run('DELETE FROM attempts WHERE last_at < ? AND locked_until < ?', now - LOCKED_FOR_MS, now);
      const row = this.#db.get(
        'SELECT failures, locked_until FROM attempts WHERE kind = ? AND account = ? AND address = ?',
        kind,
        account,
        address,
      );
      const lockedUntil = (row?.locked_until as number | undefined) ?? 0;
      if (lockedUntil > now) {
        const minutes = Math.ceil((lockedUntil - now) / 60_000);
        throw fail(
          'locked_out',
          `There were ${MAX_FAILURES} failed attempts from ${address}.`,
          `Try again in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}.`,
        );
      }
      const failures = lockedUntil > 0 ? 1 : ((row?.failures as number | undefined) ?? 0) + 1;
      this.#db.run(
        `INSERT INTO attempts (kind, account, address, failures, last_at, locked_until) VALUES (?, ?, ?, ?, ?, ?)
         ON CONFLICT (kind, account, address) DO UPDATE
         SET failures = excluded.failures, last_at = excluded.last_at, locked_until = excluded.locked_until`,
        kind,
        account,
        address,
        failures,
        now,
        failures >= MAX_FAILURES ? now + LOCKED_FOR_MS : 0,
      );
      return failures;
    });
    return failures === MAX_FAILURES;
  }

  succeeded(kind: GuessKind, account: string, address: string): void {
    this.#db.run('DELETE FROM attempts WHERE kind = ? AND account = ? AND address = ?', kind, account, address);
  }
}
