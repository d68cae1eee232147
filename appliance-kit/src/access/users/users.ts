// The users who may sign in, and the rules for their names and passwords.

import { type Clock, iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import type { Role } from '../../http/gate/roles.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Database } from '../../state/database.ts';
import type { routes } from './routes.ts';
import type { User } from './schema.ts';

export const SHORTEST_PASSWORD = 10;
const NAME = /^[a-z][a-z0-9._-]{0,31}$/;

/** Throws what is wrong with it, field by field. */
export function checkNewUser(name: string, password: string): void {
  const errors: { path: string; message: string }[] = [];
  if (!NAME.test(name)) {
    errors.push({
      path: '/name',
      message: 'must begin with a small letter and hold only small letters, digits, ".", "_" and "-", 32 at most',
    });
  }
  const length = [...password].length;
  if (length < SHORTEST_PASSWORD) {
    errors.push({ path: '/password', message: `must have at least ${SHORTEST_PASSWORD} characters; it has ${length}` });
  } else if (password.toLowerCase() === name.toLowerCase()) {
    errors.push({ path: '/password', message: 'must not be the name' });
  }
  if (errors.length > 0) {
    const words = errors.map(({ path, message }) => `The ${path.slice(1)} ${message}.`).join(' ');
    throw fail('invalid_request', words, undefined, errors);
  }
}

export class Users {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #changed: () => void;

  /** `changed` is called after who may sign in, and with what, was changed. */
  constructor(db: Database, clock: Clock, changed: () => void) {
    this.#db = db;
    this.#clock = clock;
    this.#changed = changed;
  }

  list(): User[] {
    return this.#db.all('SELECT * FROM users ORDER BY name').map((row) => ({
      name: row.name as string,
      role: row.role as Role,
      createdAt: iso(row.created_at as number),
      lastSignInAt: row.last_sign_in_at === null ? null : iso(row.last_sign_in_at as number),
    }));
  }

  any(): boolean {
    return this.#db.get('SELECT 1 FROM users LIMIT 1') !== undefined;
  }

  create(name: string, role: Role, passwordHash: string): void {
    this.#db.run('INSERT INTO users VALUES (?, ?, ?, ?, NULL)', name, role, passwordHash, this.#clock.now());
    // After the transaction this may be in.
    queueMicrotask(this.#changed);
  }

  find(name: string): { role: Role; passwordHash: string } | undefined {
    const row = this.#db.get('SELECT role, password_hash FROM users WHERE name = ?', name);
    return row && { role: row.role as Role, passwordHash: row.password_hash as string };
  }

  signedIn(name: string): void {
    this.#db.run('UPDATE users SET last_sign_in_at = ? WHERE name = ?', this.#clock.now(), name);
  }
}

export function userRoutes(users: Users): Handlers<typeof routes> {
  return { listUsers: () => ({ items: users.list() }) };
}
