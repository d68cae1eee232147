// Who guesses waits; who knows the password does not. What is counted is in memory, because a failure must not cost a write to
// disk; who has used up the guesses is written down, so that a restart is no way around it.
//
// - An address has ten wrong guesses, and one more each minute. Addresses of IPv6 count by their network of 64 bits.
// - A browser in which this user has signed in before brings a cookie that says so (OWASP, "Device Cookies"), and has ten
//   guesses of its own: it is answered while the same address is used for guessing.
// - A name at which many addresses guess makes browsers that are not known wait before the password is looked at, by
//   seconds. Nobody is refused for what others do.
import type { Clock } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import type { Database } from '../../state/database.ts';

export const FREE_GUESSES = 10;
export const ONE_MORE_EACH_MS = 60_000;
/** A name may be guessed at so often before browsers that are not known wait. */
const FREE_FAILURES_OF_NAME = 20;
const WAIT_PER_FAILURE_MS = 25;
const LONGEST_WAIT_MS = 5_000;
const FORGET_FAILURE_OF_NAME_MS = 2_000;
/** One address asks for so many passwords at the same time. */
const AT_ONCE = 8;
/** Beyond that the one that was not used for the longest time is forgotten. */
const MOST = 10_000;

interface Bucket {
  failures: number;
  at: number;
}

/** Failures that are forgotten one by one, of many. */
class Buckets {
  readonly #all = new Map<string, Bucket>();
  readonly #forgetOneMs: number;
  readonly #now: () => number;

  constructor(now: () => number, forgetOneMs: number) {
    this.#now = now;
    this.#forgetOneMs = forgetOneMs;
  }

  get(key: string): number {
    const bucket = this.#all.get(key);
    if (bucket === undefined) return 0;
    const left = bucket.failures - (this.#now() - bucket.at) / this.#forgetOneMs;
    if (left > 0) return left;
    this.#all.delete(key);
    return 0;
  }

  add(key: string, most: number): void {
    const failures = Math.min(this.get(key) + 1, most);
    this.#all.delete(key);
    this.#all.set(key, { failures, at: this.#now() });
    for (const oldest of this.#all.keys()) {
      if (this.#all.size <= MOST) break;
      this.#all.delete(oldest);
    }
  }

  delete(key: string): void {
    this.#all.delete(key);
  }

  clear(): void {
    this.#all.clear();
  }

  /** After a restart. */
  restore(key: string, failures: number): void {
    this.#all.set(key, { failures, at: this.#now() });
  }
}

/** The network that a client can choose its address in. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  if (mapped) return mapped[1] as string;
  const [front = '', back] = address.toLowerCase().split('::', 2);
  const left = front === '' ? [] : front.split(':');
  const right = back === undefined || back === '' ? [] : back.split(':');
  const groups =
    back === undefined ? left : [...left, ...Array(Math.max(0, 8 - left.length - right.length)).fill('0'), ...right];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}

export type GuessKind = 'password' | 'setup-code';

export interface Guess {
  /** How long the guess must wait before it is looked at. */
  readonly waitMs: number;
  /** It was wrong. Returns whether it was the last free one of its address. */
  wrong(): boolean;
  right(): void;
  /** It was not looked at. */
  withdrawn(): void;
}

export class Throttle {
  readonly #byAddress: Buckets;
  readonly #byDevice: Buckets;
  readonly #byName: Buckets;
  readonly #asking = new Map<string, number>();
  readonly #clock: Clock;
  readonly #db: Database | null;

  constructor(clock: Clock, db: Database | null) {
    this.#clock = clock;
    this.#db = db;
    const now = () => clock.monotonic();
    this.#byAddress = new Buckets(now, ONE_MORE_EACH_MS);
    this.#byDevice = new Buckets(now, ONE_MORE_EACH_MS);
    this.#byName = new Buckets(now, FORGET_FAILURE_OF_NAME_MS);
    for (const { key, at } of db?.all('SELECT key, at FROM used_up_guesses') ?? []) {
      const failures = FREE_GUESSES - Math.max(0, clock.now() - (at as number)) / ONE_MORE_EACH_MS;
      if (failures > 0) this.#byAddress.restore(key as string, failures);
    }
  }

  #usedUp(key: string): void {
    const now = this.#clock.now();
    this.#db?.transaction(() => {
      this.#db?.run('DELETE FROM used_up_guesses WHERE at < ?', now - FREE_GUESSES * ONE_MORE_EACH_MS);
      this.#db?.run('INSERT OR REPLACE INTO used_up_guesses VALUES (?, ?)', key, now);
    });
  }

  /** Everybody has all guesses again: who is let in at the console has guessed from some address, and knows a password now. */
  forgive(): void {
    for (const buckets of [this.#byAddress, this.#byDevice, this.#byName]) buckets.clear();
    this.#db?.run('DELETE FROM used_up_guesses');
  }

  /**
   * Counts a guess as wrong *before* it is looked at, so that a hundred at the same moment are not a hundred free ones.
   * Throws `locked_out` when there were too many.
   *
   * @param device what the browser is known by, when this user has signed in with it
   */
  begin(kind: GuessKind, name: string, address: string, device?: string): Guess {
    const network = networkOf(address);
    const [buckets, key] = device === undefined ? [this.#byAddress, `${kind} ${network}`] : [this.#byDevice, device];
    const before = buckets.get(key);
    if (before > FREE_GUESSES - 1) {
      const seconds = Math.ceil(((before - FREE_GUESSES + 1) * ONE_MORE_EACH_MS) / 1000);
      throw fail(
        'locked_out',
        `There were too many failed attempts from ${address}.`,
        `Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`,
      );
    }
    const asking = this.#asking.get(network) ?? 0;
    if (asking >= AT_ONCE) {
      throw fail('too_many', `${asking} passwords from ${address} are being looked at.`, 'Try again shortly.');
    }
    const failures = device === undefined && name !== '' ? this.#byName.get(name) : 0;
    buckets.add(key, FREE_GUESSES);
    this.#asking.set(network, asking + 1);
    let over = false;
    const end = () => {
      if (over) return;
      over = true;
      const left = (this.#asking.get(network) ?? 1) - 1;
      if (left > 0) this.#asking.set(network, left);
      else this.#asking.delete(network);
    };
    return {
      waitMs: Math.min(LONGEST_WAIT_MS, Math.max(0, failures - FREE_FAILURES_OF_NAME) * WAIT_PER_FAILURE_MS),
      wrong: () => {
        end();
        if (name !== '') this.#byName.add(name, FREE_FAILURES_OF_NAME + LONGEST_WAIT_MS / WAIT_PER_FAILURE_MS);
        const last = before + 1 > FREE_GUESSES - 1;
        if (last && device === undefined) this.#usedUp(key);
        return last;
      },
      right: () => {
        end();
        buckets.delete(key);
        if (before + 1 > FREE_GUESSES - 1) this.#db?.run('DELETE FROM used_up_guesses WHERE key = ?', key);
      },
      withdrawn: end,
    };
  }
}
