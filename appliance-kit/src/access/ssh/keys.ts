// Public keys of users.
import { type Clock, iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import { atLeast } from '../../http/gate/caller.ts';
import type { SshKey as ReadKey } from '../../platform/ssh.ts';
import type { Database, Row } from '../../state/database.ts';
import { newId } from '../../state/id.ts';
import type { Factors } from '../factors/index.ts';
import { EXTERNAL_HOURS } from '../session/index.ts';
import type { Users } from '../users/index.ts';
import type { SshKey } from './schema.ts';

export const MOST_EACH = 10;
/** execd takes this much in one call. */
const MOST_BYTES = 200_000;
const MOST = 500;
/** How long after the last sign-in a user of an identity provider comes in. */
const EXTERNAL_MS = EXTERNAL_HOURS * 60 * 60 * 1000;
/** As execd takes it: it stands between quotation marks in what sshd reads. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/;

export interface KeysParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly users: Users;
  readonly factors: Pick<Factors, 'mustAdd'>;
}

export class Keys {
  readonly #parts: KeysParts;

  constructor(parts: KeysParts) {
    this.#parts = parts;
  }

  /** Why a user does not come in, by name. Who is not there has no keys. */
  #obstacles(): Map<string, SshKey['obstacle']> {
    const { users, factors, clock } = this.#parts;
    return new Map(
      users.list().map(({ name, disabled, password, role, provider, lastSignInAt }) => {
        if (disabled) return [name, 'disabled'];
        if (password !== 'own') return [name, 'password'];
        const kind = provider === null ? null : users.external.kindOf(provider);
        const signedIn = lastSignInAt === null ? 0 : Date.parse(lastSignInAt);
        // Who has left the company is out on the same day, by the page and by ssh.
        if (provider !== null && (kind === null || signedIn + EXTERNAL_MS <= clock.now())) return [name, 'provider'];
        // The shell shows log lines as they are, which viewers may not read.
        if (!atLeast(role, 'operator')) return [name, 'role'];
        // As at the page: an OpenID provider asks for its own.
        return [name, factors.mustAdd(name, role) && kind !== 'oidc' ? 'second-factor' : null];
      }),
    );
  }

  #rows(): Row[] {
    return this.#parts.db.all('SELECT * FROM ssh_keys ORDER BY user, added, id');
  }

  list(user?: string): SshKey[] {
    const obstacles = this.#obstacles();
    return this.#rows()
      .filter((row) => user === undefined || row.user === user)
      .map((row) => ({
        id: row.id as string,
        user: row.user as string,
        kind: (row.key as string).split(' ')[0] as string,
        fingerprint: row.fingerprint as string,
        comment: row.comment as string,
        addedAt: iso(row.added as number),
        lastUsedAt: row.last_used === null ? null : iso(row.last_used as number),
        obstacle: obstacles.get(row.user as string) ?? null,
      }));
  }

  /** As they are in a settings document. */
  kept(): { fingerprint: string; user: string; key: string; comment: string }[] {
    return this.#rows().map((row) => ({
      ...{ fingerprint: row.fingerprint as string, user: row.user as string },
      ...{ key: row.key as string, comment: row.comment as string },
    }));
  }

  /** Those by which somebody may come in now. */
  usable(): { user: string; key: string }[] {
    const obstacles = this.#obstacles();
    return this.#rows()
      .filter((row) => obstacles.get(row.user as string) === null)
      .map((row) => ({ user: row.user as string, key: row.key as string }));
  }

  /** Throws when the user may have no key at all. */
  mayAdd(user: string): void {
    const { users } = this.#parts;
    if (!atLeast(users.get(user).role, 'operator')) {
      throw fail(
        'forbidden',
        'Viewers cannot come in by ssh: its commands show log lines as they are, which viewers may not read.',
        'Ask an administrator to make you an operator.',
      );
    }
    if (!NAME.test(user)) {
      throw fail(
        'conflict',
        `The name ${user} cannot be used with ssh: only letters, digits and “.”, “_”, “@”, “-” can, 64 at most, and the first is a letter or a digit.`,
        'Ask an administrator for a user of this appliance.',
      );
    }
  }

  add(user: string, { algorithm, encoded, fingerprint, comment }: ReadKey): SshKey {
    const { db, clock } = this.#parts;
    this.mayAdd(user);
    const key = `${algorithm} ${encoded}`;
    const all = this.#rows();
    const same = all.find((row) => row.fingerprint === fingerprint);
    if (same !== undefined) {
      const whose = same.user === user ? 'You have this key already.' : 'Another user of this appliance has this key.';
      const message = same.user === user ? 'is in the list already' : 'belongs to another user';
      throw fail('conflict', whose, 'Make a pair of your own with “ssh-keygen -t ed25519”.', [
        { path: '/key', message },
      ]);
    }
    if (all.filter((row) => row.user === user).length >= MOST_EACH) {
      throw fail('conflict', `You have ${MOST_EACH} keys, which is the most.`, 'Remove one first.');
    }
    const bytes = all.reduce((sum, row) => sum + (row.key as string).length + (row.user as string).length + 40, 0);
    if (all.length >= MOST || bytes + key.length > MOST_BYTES) {
      throw fail('conflict', 'The users of this appliance have as many keys as it can keep.', 'Remove one first.');
    }
    const id = newId('sk', clock.now());
    db.run(
      'INSERT INTO ssh_keys (id, user, key, fingerprint, comment, added) VALUES (?, ?, ?, ?, ?, ?)',
      ...[id, user, key, fingerprint, comment.slice(0, 200), clock.now()],
    );
    return this.list(user).find((one) => one.id === id) as SshKey;
  }

  remove(id: string): void {
    this.#parts.db.run('DELETE FROM ssh_keys WHERE id = ?', id);
  }

  used(fingerprint: string, time: number): void {
    this.#parts.db.run(
      'UPDATE ssh_keys SET last_used = ?1 WHERE fingerprint = ?2 AND coalesce(last_used, 0) < ?1',
      ...[time, fingerprint],
    );
  }
}
