// The users who may sign in.

import { randomInt } from 'node:crypto';
import { type Clock, iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import type { Role } from '../../http/gate/roles.ts';
import type { Database, Row } from '../../state/database.ts';
import type { User } from './schema.ts';

/** A one-time password must be used within a week. */
export const ONE_TIME_MS = 7 * 24 * 60 * 60 * 1000;
const NAME = /^[a-z][a-z0-9._-]{0,31}$/;
export const NAME_RULE =
  'must begin with a small letter and hold only small letters, digits, ".", "_" and "-", 32 at most';

export const isUserName = (name: string) => NAME.test(name);

/** What a user must know to sign in. */
export interface Account {
  readonly name: string;
  readonly role: Role;
  readonly passwordHash: string;
  readonly disabled: boolean;
  /** The password must be changed at this sign-in. */
  readonly oneTime: boolean;
  /** It was not used in time. */
  readonly expired: boolean;
  /** Of whom an identity provider knows: its id, and who it is there. */
  readonly provider: string | null;
  readonly subject: string | null;
}

/** Letters and digits that cannot be taken for one another: they are read off a screen. */
const LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789';

/** Sixteen letters in four groups: 79 bits. For one-time passwords and recovery codes. */
export function readableSecret(): string {
  const letters = Array.from({ length: 16 }, () => LETTERS[randomInt(LETTERS.length)]);
  return [0, 4, 8, 12].map((at) => letters.slice(at, at + 4).join('')).join('-');
}

/** What a later domain knows of users: their second factors. */
export interface SecondFactors {
  has(name: string): boolean;
  /** What supportd needs to check them. */
  ofAdministrator(name: string): Readonly<Record<string, unknown>>;
}

/** What a later domain knows of the users of identity providers. */
export interface ExternalAccounts {
  kindOf(provider: string): 'ldap' | 'oidc' | null;
  /** Null: wrong name or password. Throws when the provider cannot be asked. */
  signIn(provider: string, name: string, password: string): Promise<Account | null>;
  /** Whether it is the password of a user that is known. */
  verify(account: Account, password: string): Promise<boolean>;
}

export class Users {
  external: ExternalAccounts = { kindOf: () => null, signIn: async () => null, verify: async () => false };
  secondFactors: SecondFactors = { has: () => false, ofAdministrator: () => ({}) };
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #changed: () => void;

  /** `changed` is called after who may sign in, and with what, was changed. */
  constructor(db: Database, clock: Clock, changed: () => void) {
    this.#db = db;
    this.#clock = clock;
    this.#changed = changed;
  }

  #fromRow(row: Row): User {
    const until = row.one_time_until as number | null;
    return {
      name: row.name as string,
      role: row.role as Role,
      disabled: row.disabled_at !== null,
      password: until === null ? 'own' : until > this.#clock.now() ? 'one-time' : 'expired',
      oneTimeUntil: until === null ? null : iso(until),
      provider: row.provider as string | null,
      secondFactor: this.secondFactors.has(row.name as string),
      createdAt: iso(row.created_at as number),
      lastSignInAt: row.last_sign_in_at === null ? null : iso(row.last_sign_in_at as number),
    };
  }

  list(): User[] {
    return this.#db.all('SELECT * FROM users ORDER BY name').map((row) => this.#fromRow(row));
  }

  /** Throws `not_found`. */
  get(name: string): User {
    const row = this.#db.get('SELECT * FROM users WHERE name = ?', name);
    if (row === undefined) throw fail('not_found', `There is no user ${name.slice(0, 64)}.`);
    return this.#fromRow(row);
  }

  any(): boolean {
    return this.#db.get('SELECT 1 FROM users LIMIT 1') !== undefined;
  }

  find(name: string): Account | undefined {
    const row = this.#db.get('SELECT * FROM users WHERE name = ?', name);
    if (row === undefined) return undefined;
    const { password } = this.#fromRow(row);
    return {
      name,
      role: row.role as Role,
      passwordHash: row.password_hash as string,
      disabled: row.disabled_at !== null,
      oneTime: password !== 'own',
      expired: password === 'expired',
      provider: row.provider as string | null,
      subject: row.subject as string | null,
    };
  }

  findExternal(provider: string, subject: string): Account | undefined {
    const sql = 'SELECT name FROM users WHERE provider = ? AND subject = ?';
    const row = this.#db.get(sql, provider, subject);
    return row && this.find(row.name as string);
  }

  /** The names of those who are known by an identity provider. */
  ofProvider(provider: string): string[] {
    return this.#db.all('SELECT name FROM users WHERE provider = ?', provider).map(({ name }) => name as string);
  }

  /** Without a password: the provider knows it. */
  createExternal(name: string, role: Role, provider: string, subject: string): void {
    this.#db.run(
      `INSERT INTO users (name, role, password_hash, created_at, provider, subject) VALUES (?, ?, '', ?, ?, ?)`,
      ...[name, role, this.#clock.now(), provider, subject],
    );
    this.administratorsChanged();
  }

  /** `oneTime`: the password must be changed at the first sign-in. */
  create(name: string, role: Role, passwordHash: string, oneTime = false): void {
    const now = this.#clock.now();
    this.#db.run(
      `INSERT INTO users (name, role, password_hash, created_at, one_time_until, password_changed_at)
       VALUES (?, ?, ?, ?, ?, ?)`,
      ...[name, role, passwordHash, now],
      ...[oneTime ? now + ONE_TIME_MS : null, now],
    );
    this.administratorsChanged();
  }

  setPassword(name: string, passwordHash: string, oneTime: boolean): void {
    const now = this.#clock.now();
    this.#db.run(
      'UPDATE users SET password_hash = ?, one_time_until = ?, password_changed_at = ? WHERE name = ?',
      ...[passwordHash, oneTime ? now + ONE_TIME_MS : null, now, name],
    );
    this.administratorsChanged();
  }

  /** The same password, hashed as it is today. */
  rehash(name: string, before: string, passwordHash: string): void {
    this.#db.run('UPDATE users SET password_hash = ? WHERE name = ? AND password_hash = ?', passwordHash, name, before);
    this.administratorsChanged();
  }

  change(name: string, role: Role, disabled: boolean): void {
    this.#db.run(
      'UPDATE users SET role = ?, disabled_at = CASE WHEN ? THEN COALESCE(disabled_at, ?) END WHERE name = ?',
      ...[role, disabled ? 1 : 0, this.#clock.now(), name],
    );
    this.administratorsChanged();
  }

  remove(name: string): void {
    this.#db.run('DELETE FROM users WHERE name = ?', name);
    this.administratorsChanged();
  }

  signedIn(name: string): void {
    this.#db.run('UPDATE users SET last_sign_in_at = ? WHERE name = ?', this.#clock.now(), name);
  }

  /** Throws when nobody but this user is an administrator who can sign in. */
  mustNotBeTheLast(name: string, what: string): void {
    const others = this.list().some(
      (user) =>
        user.name !== name &&
        user.role === 'administrator' &&
        !user.disabled &&
        user.password !== 'expired' &&
        user.provider === null,
    );
    const { role, disabled } = this.get(name);
    if (others || role !== 'administrator' || disabled) return;
    throw fail(
      'last_administrator',
      `${name} is the only administrator who can sign in, and cannot be ${what}.`,
      'Add another administrator first, or enable one.',
    );
  }

  /** Who may sign in at supportd, or with what, is another one now. */
  administratorsChanged(): void {
    // After the transaction this may be in.
    queueMicrotask(this.#changed);
  }
}
