// Sessions of browsers: a random cookie, of which the state knows only the hash.
import { createHash, randomBytes } from 'node:crypto';
import { type Clock, iso } from '../../base/clock.ts';
import type { Role } from '../../http/gate/roles.ts';
import type { Database } from '../../state/database.ts';
import { newId } from '../../state/id.ts';
import type { Settings } from '../../state/settings.ts';
import type { SignPlace } from './places.ts';
import type { ActiveSession, SessionLifetime } from './schema.ts';
import * as stored from './settings.ts';

/** Twelve hours without use, and a week in any case. */
export const DEFAULT_LIFETIME: SessionLifetime = { idleMinutes: 12 * 60, longestHours: 7 * 24 };
/** The set-up cookie is for one sitting. */
export const SETUP_MS = 2 * 60 * 60 * 1000;
/** What an identity provider has changed meanwhile is known at the next sign-in. */
export const EXTERNAL_HOURS = 12;
/** How long a confirmation by password is good. */
export const CONFIRMED_MS = 5 * 60 * 1000;
/** Its use is noted at most this often: a page that polls must not write to disk with every request. */
const NOTE_USE_MS = 60 * 1000;
/** A browser that nobody signed in with for so long is forgotten. */
const KNOWN_BROWSER_MS = 90 * 24 * 60 * 60 * 1000;
const KNOWN_BROWSERS_EACH = 20;

export function secretHash(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

export interface KnownSession {
  readonly id: string;
  readonly user: string;
  readonly role: Role;
  readonly expiresAt: number;
  /** Until when what needs a confirmation is allowed; in the past when it is not. */
  readonly confirmedUntil: number;
  /** The user signed in by a one-time password. */
  readonly mustChangePassword: boolean;
  /** The user needs a second factor, and has none. */
  readonly mustAddFactor: boolean;
}

/** Where a session is used from. */
export interface From {
  readonly address: string;
  readonly browser: string | null;
}

export class Sessions {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #settings: Settings;
  readonly #mustAddFactor: (user: string, role: Role) => boolean;
  readonly #signPlace: SignPlace;

  constructor(
    db: Database,
    clock: Clock,
    settings: Settings,
    mustAddFactor: (user: string, role: Role) => boolean,
    signPlace: SignPlace,
  ) {
    this.#db = db;
    this.#clock = clock;
    this.#settings = settings;
    this.#mustAddFactor = mustAddFactor;
    this.#signPlace = signPlace;
  }

  lifetime(): SessionLifetime {
    return this.#settings.get(stored.lifetime) ?? DEFAULT_LIFETIME;
  }

  /** However much it is used. */
  #atTheLatest(createdAt: number, external: boolean): number {
    const { longestHours } = this.lifetime();
    return createdAt + (external ? Math.min(longestHours, EXTERNAL_HOURS) : longestHours) * 3_600_000;
  }

  #end(createdAt: number, external: boolean): number {
    const idle = this.#clock.now() + this.lifetime().idleMinutes * 60_000;
    return Math.min(idle, this.#atTheLatest(createdAt, external));
  }

  /** A new secret; a user's with what nginx knows it by (image/common/nginx/cistern.conf.in). */
  #secret(user: string | null, now: number, external: boolean): string {
    const random = randomBytes(32).toString('base64url');
    const until = Math.ceil(this.#atTheLatest(now, external) / 1000);
    const signature = user === null ? null : this.#signPlace(random, until);
    return signature === null ? random : `${random}.${until}.${signature}`;
  }

  /** `user` null: the set-up cookie. Returns what the cookie holds. */
  /** `at`: an identity provider vouches for the user; by OpenID Connect perhaps since long ago, so that nothing is confirmed by it. */
  create(
    user: string | null,
    from: From,
    at: 'here' | 'ldap' | 'oidc' = 'here',
  ): { secret: string; expiresAt: number } {
    const now = this.#clock.now();
    const secret = this.#secret(user, now, at !== 'here');
    const expiresAt = user === null ? now + SETUP_MS : this.#end(now, at !== 'here');
    this.#db.transaction(() => {
      this.#db.run('DELETE FROM sessions WHERE expires_at <= ?', now);
      this.#db.run(
        `INSERT INTO sessions (hash, id, user, created_at, expires_at, address, browser, last_used_at, confirmed_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        ...[secretHash(secret), newId('ses', now), user, now, expiresAt],
        ...[from.address, from.browser, now, user === null || at === 'oidc' ? null : now],
      );
    });
    return { secret, expiresAt };
  }

  find(secret: string, address: string): KnownSession | undefined {
    const now = this.#clock.now();
    const hash = secretHash(secret);
    const row = this.#db.get(
      `SELECT s.*, u.role, u.one_time_until, u.provider FROM sessions s JOIN users u ON u.name = s.user
       WHERE s.hash = ? AND s.expires_at > ? AND u.disabled_at IS NULL`,
      hash,
      now,
    );
    if (row === undefined) return undefined;
    let expiresAt = row.expires_at as number;
    const unnoted = now - ((row.last_used_at as number | null) ?? 0) > NOTE_USE_MS;
    if (unnoted || row.address !== address) {
      expiresAt = this.#end(row.created_at as number, row.provider !== null);
      this.#db.run(
        'UPDATE sessions SET expires_at = ?, last_used_at = ?, address = ? WHERE hash = ?',
        ...[expiresAt, now, address, hash],
      );
    }
    return {
      id: row.id as string,
      user: row.user as string,
      role: row.role as Role,
      expiresAt,
      confirmedUntil: ((row.confirmed_at as number | null) ?? 0) + CONFIRMED_MS,
      mustChangePassword: row.one_time_until !== null,
      mustAddFactor: this.#mustAddFactor(row.user as string, row.role as Role),
    };
  }

  isSetup(secret: string): boolean {
    const sql = 'SELECT 1 FROM sessions WHERE hash = ? AND user IS NULL AND expires_at > ?';
    return this.#db.get(sql, secretHash(secret), this.#clock.now()) !== undefined;
  }

  /** Until when it is good, in milliseconds since the epoch. */
  confirm(id: string): number {
    const now = this.#clock.now();
    this.#db.run('UPDATE sessions SET confirmed_at = ? WHERE id = ?', now, id);
    return now + CONFIRMED_MS;
  }

  /** The newest first. `user` null: of all users. */
  list(user: string | null, own: string | undefined): ActiveSession[] {
    const rows = this.#db.all(
      'SELECT * FROM sessions WHERE user IS NOT NULL AND (?1 IS NULL OR user = ?1) AND expires_at > ?2 ORDER BY created_at DESC, rowid DESC',
      user,
      this.#clock.now(),
    );
    return rows.map((row) => ({
      id: row.id as string,
      user: row.user as string,
      own: row.id === own,
      address: row.address as string | null,
      browser: row.browser as string | null,
      createdAt: iso(row.created_at as number),
      lastUsedAt: row.last_used_at === null ? null : iso(row.last_used_at as number),
      expiresAt: iso(row.expires_at as number),
    }));
  }

  end(secret: string): void {
    this.#db.run('DELETE FROM sessions WHERE hash = ?', secretHash(secret));
  }

  endById(id: string): void {
    this.#db.run('DELETE FROM sessions WHERE id = ?', id);
  }

  /** All of a user's but one. */
  endOf(user: string, except?: string): number {
    return this.#db.run('DELETE FROM sessions WHERE user = ? AND id IS NOT ?', user, except ?? null);
  }

  endSetup(): void {
    this.#db.run('DELETE FROM sessions WHERE user IS NULL');
  }

  /** Notes that the user signed in with a browser; returns what its cookie holds from now on. */
  rememberBrowser(user: string, before: string | undefined): string {
    const now = this.#clock.now();
    const secret = randomBytes(32).toString('base64url');
    this.#db.transaction(() => {
      if (before !== undefined) this.#db.run('DELETE FROM known_browsers WHERE hash = ?', secretHash(before));
      this.#db.run('DELETE FROM known_browsers WHERE used_at < ?', now - KNOWN_BROWSER_MS);
      this.#db.run('INSERT INTO known_browsers VALUES (?, ?, ?)', secretHash(secret), user, now);
      this.#db.run(
        `DELETE FROM known_browsers WHERE user = ?1 AND hash NOT IN
           (SELECT hash FROM known_browsers WHERE user = ?1 ORDER BY used_at DESC LIMIT ${KNOWN_BROWSERS_EACH})`,
        user,
      );
    });
    return secret;
  }

  /** What a browser is known by, if this user has signed in with it. */
  knownBrowser(user: string, secret: string | undefined): string | undefined {
    if (secret === undefined) return undefined;
    const hash = secretHash(secret);
    const row = this.#db.get('SELECT 1 FROM known_browsers WHERE hash = ? AND user = ?', hash, user);
    return row && hash;
  }

  forgetBrowsers(user: string): void {
    this.#db.run('DELETE FROM known_browsers WHERE user = ?', user);
  }
}
