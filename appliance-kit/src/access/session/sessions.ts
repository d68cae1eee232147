// Sessions of browsers: a random cookie, of which the state knows only the hash.
import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { Role } from '../../http/gate/roles.ts';
import type { Database } from '../../state/database.ts';

/** A session ends this long after its last use … */
export const IDLE_MS = 12 * 60 * 60 * 1000;
/** … and this long after it began, whatever happens. */
export const LONGEST_MS = 7 * 24 * 60 * 60 * 1000;
/** The set-up cookie is for one sitting. */
export const SETUP_MS = 2 * 60 * 60 * 1000;
/** Its end is moved on at most this often: a page that polls must not write to disk with every request. */
const RENEW_MS = 10 * 60 * 1000;

export function secretHash(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

export interface KnownSession {
  readonly user: string;
  readonly role: Role;
  readonly expiresAt: number;
}

export class Sessions {
  readonly #db: Database;
  readonly #clock: Clock;

  constructor(db: Database, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  /** `user` null: the set-up cookie. Returns what the cookie holds. */
  create(user: string | null): { secret: string; expiresAt: number } {
    const now = this.#clock.now();
    const secret = randomBytes(32).toString('base64url');
    const expiresAt = now + (user === null ? SETUP_MS : IDLE_MS);
    this.#db.transaction(() => {
      this.#db.run('DELETE FROM sessions WHERE expires_at <= ?', now);
      this.#db.run('INSERT INTO sessions VALUES (?, ?, ?, ?)', secretHash(secret), user, now, expiresAt);
    });
    return { secret, expiresAt };
  }

  find(secret: string): KnownSession | undefined {
    const now = this.#clock.now();
    const hash = secretHash(secret);
    const row = this.#db.get(
      'SELECT s.*, u.role FROM sessions s JOIN users u ON u.name = s.user WHERE s.hash = ? AND s.expires_at > ?',
      hash,
      now,
    );
    if (row === undefined) return undefined;
    let expiresAt = row.expires_at as number;
    const renewed = Math.min(now + IDLE_MS, (row.created_at as number) + LONGEST_MS);
    if (renewed - expiresAt > RENEW_MS) {
      expiresAt = renewed;
      this.#db.run('UPDATE sessions SET expires_at = ? WHERE hash = ?', expiresAt, hash);
    }
    return { user: row.user as string, role: row.role as Role, expiresAt };
  }

  isSetup(secret: string): boolean {
    const sql = 'SELECT 1 FROM sessions WHERE hash = ? AND user IS NULL AND expires_at > ?';
    return this.#db.get(sql, secretHash(secret), this.#clock.now()) !== undefined;
  }

  end(secret: string): void {
    this.#db.run('DELETE FROM sessions WHERE hash = ?', secretHash(secret));
  }

  endSetup(): void {
    this.#db.run('DELETE FROM sessions WHERE user IS NULL');
  }
}
