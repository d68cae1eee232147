// Who has which second factor, and whether a code is right.
import { randomBytes } from 'node:crypto';
import { type Clock, iso } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { fail } from '../../base/problems/problem.ts';
import type { Caller } from '../../http/gate/caller.ts';
import type { Role } from '../../http/gate/roles.ts';
import type { Database, Row } from '../../state/database.ts';
import { newId } from '../../state/id.ts';
import type { Belongs, Seal } from '../../state/sealed.ts';
import type { Settings } from '../../state/settings.ts';
import type { Audit } from '../audit/index.ts';
import type { SecondFactors } from '../users/index.ts';
import type { Passkeys, Site } from './passkeys.ts';
import { policyOf } from './policy.ts';
import { makeRecoveryCodes, recoveryHash } from './recovery-codes.ts';
import type { Factor, MadePasskey, SecondFactorPolicy } from './schema.ts';
import * as stored from './settings.ts';
import { SEED_BYTES, stepOfCode } from './totp.ts';
import type { UsedThereFile } from './used-there.ts';

export const MOST_EACH = 5;
/** How long an app may be being added. */
export const ADDING_MS = 15 * 60 * 1000;

/** A factor that is being added: in memory, and good for nothing. */
interface Started {
  readonly user: string;
  readonly name: string;
  readonly seed: Buffer;
  readonly until: number;
}

export interface Finished {
  readonly factor: Factor;
  /** With the first factor of a user. */
  readonly recoveryCodes: string[] | null;
}

/** `used`: it was right, and was taken before. */
export type Checked = 'app' | 'recovery-code' | 'used' | 'wrong';

export interface FactorsParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly settings: Settings;
  readonly seal: Seal;
  readonly log: Log;
  readonly audit: Audit;
  readonly usedThere: UsedThereFile;
  readonly passkeys: Passkeys;
  /** After what supportd needs to know of administrators has changed. */
  readonly changed: () => void;
}

const boundTo = (user: string, id: string): Belongs => ['factor', user, id];

export class Factors implements SecondFactors {
  readonly #parts: FactorsParts;
  readonly #started = new Map<string, Started>();

  constructor(parts: FactorsParts) {
    this.#parts = parts;
  }

  #rows(user: string): Row[] {
    return this.#parts.db.all('SELECT * FROM factors WHERE user = ? ORDER BY created_at, id', user);
  }

  list(user: string): Factor[] {
    const apps = this.#rows(user).map((row) => ({
      id: row.id as string,
      kind: 'app' as const,
      name: row.name as string,
      host: null,
      createdAt: iso(row.created_at as number),
      lastUsedAt: row.last_used_at === null ? null : iso(row.last_used_at as number),
    }));
    return [...apps, ...this.#parts.passkeys.list(user)];
  }

  has(user: string): boolean {
    const sql = `SELECT 1 FROM factors WHERE user = ?1 UNION ALL SELECT 1 FROM passkeys WHERE user = ?1 LIMIT 1`;
    return this.#parts.db.get(sql, user) !== undefined;
  }

  hasApp(user: string): boolean {
    return this.#parts.db.get('SELECT 1 FROM factors WHERE user = ? LIMIT 1', user) !== undefined;
  }

  hasPasskey(user: string): boolean {
    return this.#parts.db.get('SELECT 1 FROM passkeys WHERE user = ? LIMIT 1', user) !== undefined;
  }

  recoveryCodesLeft(user: string): number {
    const sql = 'SELECT count(*) AS n FROM recovery_codes WHERE user = ? AND used_at IS NULL';
    return this.#parts.db.get(sql, user)?.n as number;
  }

  policy(): SecondFactorPolicy {
    return this.#parts.settings.get(stored.policy) ?? { requiredFrom: null };
  }

  changePolicy(policy: SecondFactorPolicy, by: Caller, audit: Audit): void {
    const after = policyOf(policy);
    this.#parts.db.transaction(() => {
      audit.record(by, 'second-factor-policy.set', 'administrators', this.policy(), after);
      this.#parts.settings.set(stored.policy, after);
    });
    this.#parts.changed();
  }

  /** Whether users of that role need a factor by now. */
  required(role: Role): boolean {
    const { requiredFrom } = this.policy();
    return role === 'administrator' && requiredFrom !== null && Date.parse(requiredFrom) <= this.#parts.clock.now();
  }

  /** Whether the user may do nothing but add a factor. */
  mustAdd(user: string, role: Role): boolean {
    return this.required(role) && !this.has(user);
  }

  /** Throws when the user may have no further one of that name. */
  mayAdd(user: string, name: string): void {
    const mine = this.list(user);
    if (mine.some((factor) => factor.name === name)) {
      const message = 'is in use';
      throw fail('conflict', `You have a second factor ${name} already.`, 'Give this one another name.', [
        { path: '/name', message },
      ]);
    }
    if (mine.length >= MOST_EACH) {
      throw fail('conflict', `You have ${MOST_EACH} second factors, which is the most.`, 'Remove one first.');
    }
  }

  start(user: string, name: string): { id: string; seed: Buffer; until: number } {
    const { clock } = this.#parts;
    this.mayAdd(user, name);
    // One at a time each: whoever begins again has lost the first.
    for (const [id, one] of this.#started)
      if (one.user === user || one.until <= clock.monotonic()) this.#started.delete(id);
    const id = newId('fa', clock.now());
    const seed = randomBytes(SEED_BYTES);
    this.#started.set(id, { user, name, seed, until: clock.monotonic() + ADDING_MS });
    return { id, seed, until: clock.now() + ADDING_MS };
  }

  /** Its code shows that the app has the seed. With the first factor of a user there are recovery codes. */
  finish(user: string, id: string, code: string): Finished {
    const { db, clock, seal } = this.#parts;
    const one = this.#started.get(id);
    if (one === undefined || one.user !== user || one.until <= clock.monotonic()) {
      throw fail('not_found', 'No authenticator app is being added under that id.', 'Begin again, and scan it anew.');
    }
    const step = stepOfCode(one.seed, plain(code), clock.now());
    if (step === null) {
      const message = 'is not what the app shows for this appliance now';
      throw fail(
        'invalid_request',
        `The code ${message}.`,
        'Compare the time of the phone with that of the appliance, and give the next code.',
        [{ path: '/code', message }],
      );
    }
    const first = !this.has(user);
    db.run(
      `INSERT INTO factors (id, user, kind, name, sealed_secret, created_at, last_step) VALUES (?, ?, 'app', ?, ?, ?, ?)`,
      ...[id, user, one.name, seal.seal(boundTo(user, id), one.seed), clock.now(), step],
    );
    this.#started.delete(id);
    return this.#added(user, id, first);
  }

  #added(user: string, id: string, first: boolean): Finished {
    const recoveryCodes = first ? this.makeRecoveryCodes(user) : null;
    this.#parts.changed();
    return { factor: this.list(user).find((factor) => factor.id === id) as Factor, recoveryCodes };
  }

  async addPasskey(user: string, made: MadePasskey, site: Site): Promise<Finished> {
    this.mayAdd(user, made.name);
    const first = !this.has(user);
    return this.#added(user, await this.#parts.passkeys.finishAdding(user, made, site), first);
  }

  makeRecoveryCodes(user: string): string[] {
    const { db } = this.#parts;
    const codes = makeRecoveryCodes();
    db.transaction(() => {
      db.run('DELETE FROM recovery_codes WHERE user = ?', user);
      for (const code of codes)
        db.run('INSERT INTO recovery_codes (user, hash) VALUES (?, ?)', user, recoveryHash(user, code));
    });
    this.#parts.changed();
    return codes;
  }

  /** Its recovery codes go with the last factor. Throws `not_found`. */
  remove(user: string, role: Role, id: string): Factor {
    const { db } = this.#parts;
    const mine = this.list(user);
    const gone = mine.find((factor) => factor.id === id);
    if (gone === undefined) throw fail('not_found', `You have no second factor ${id}.`);
    if (mine.length === 1 && this.required(role)) {
      throw fail(
        'conflict',
        'Administrators need a second factor, and this is your only one.',
        'Add another one first.',
      );
    }
    db.run('DELETE FROM factors WHERE id = ?', id);
    this.#parts.passkeys.remove(id);
    if (mine.length === 1) db.run('DELETE FROM recovery_codes WHERE user = ?', user);
    this.#parts.changed();
    return gone;
  }

  /** Returns how many there were. */
  clear(user: string): number {
    const { db } = this.#parts;
    db.run('DELETE FROM recovery_codes WHERE user = ?', user);
    const cleared = db.run('DELETE FROM factors WHERE user = ?', user) + this.#parts.passkeys.clear(user);
    this.#parts.changed();
    return cleared;
  }

  /** Takes a code of an app, or with `recovery` a recovery code: a right one is good for nothing afterwards. */
  check(user: string, given: string, recovery: boolean): Checked {
    const { db } = this.#parts;
    this.takeOver();
    const code = plain(given);
    return db.transaction(() => {
      if (/^\d*$/.test(code)) return this.#checkApps(user, code);
      return recovery ? this.#checkRecovery(user, code) : 'wrong';
    });
  }

  #checkApps(user: string, code: string): Checked {
    const { db, clock, seal, log } = this.#parts;
    let found: Checked = 'wrong';
    for (const row of this.#rows(user)) {
      const id = row.id as string;
      const seed = seal.open(boundTo(user, id), row.sealed_secret as string);
      if (seed === null) {
        log.error('the secret of an authenticator app cannot be opened: its user has to add the app anew');
        continue;
      }
      const step = stepOfCode(seed, code, clock.now());
      if (step === null) continue;
      if (step <= (row.last_step as number)) {
        found = 'used';
        continue;
      }
      db.run('UPDATE factors SET last_step = ?, last_used_at = ? WHERE id = ?', step, clock.now(), id);
      this.#parts.changed();
      return 'app';
    }
    return found;
  }

  #checkRecovery(user: string, code: string): Checked {
    const hash = recoveryHash(user, code);
    if (this.#useRecovery(user, hash)) return 'recovery-code';
    const known = this.#parts.db.get('SELECT 1 FROM recovery_codes WHERE user = ? AND hash = ?', user, hash);
    return known === undefined ? 'wrong' : 'used';
  }

  #useRecovery(user: string, hash: string): boolean {
    const { db, clock } = this.#parts;
    const sql = 'UPDATE recovery_codes SET used_at = ? WHERE user = ? AND hash = ? AND used_at IS NULL';
    const used = db.run(sql, clock.now(), user, hash) > 0;
    if (used) this.#parts.changed();
    return used;
  }

  /** What was used at supportd's sign-in is used up here as well. */
  takeOver(): void {
    const { db, audit, usedThere } = this.#parts;
    const there = usedThere.readNew();
    if (there === null) return;
    db.transaction(() => {
      for (const [id, step] of Object.entries(there.steps)) {
        const sql = 'UPDATE factors SET last_step = ?1 WHERE id = ?2 AND last_step < ?1';
        if (db.run(sql, step, id) > 0) this.#parts.changed();
      }
      for (const { user, hash, from } of there.recoveryCodes) {
        if (!this.#useRecovery(user, hash)) continue;
        const caller = { name: user, address: from, way: 'support' } as const;
        audit.record(caller, 'recovery-code.use', user, null, { at: 'support', left: this.recoveryCodesLeft(user) });
      }
    });
  }

  /** What supportd needs to check a code, or to refuse without one: of an administrator, in administrators.json. */
  ofAdministrator(user: string): Readonly<Record<string, unknown>> {
    this.takeOver();
    const rows = this.#rows(user);
    const passkeys = this.#parts.passkeys.list(user).length;
    if (rows.length + passkeys === 0) {
      const { requiredFrom } = this.policy();
      return requiredFrom === null ? {} : { factorRequiredFrom: requiredFrom };
    }
    const unused = this.#parts.db.all(
      'SELECT hash FROM recovery_codes WHERE user = ? AND used_at IS NULL ORDER BY hash',
      user,
    );
    return {
      factors: rows.map((row) => ({ id: row.id, sealedSecret: row.sealed_secret, lastStep: row.last_step })),
      // They belong to the page: at supportd's a recovery code stands for them.
      ...(passkeys > 0 && { passkeys }),
      recoveryHashes: unused.map(({ hash }) => hash),
    };
  }
}

/** Apps show codes in groups. */
const plain = (code: string) => code.replace(/\s/g, '');
