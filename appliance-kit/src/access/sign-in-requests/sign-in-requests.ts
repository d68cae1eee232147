// Programs that wait to be signed in. In memory alone: a restart ends them, and the program asks anew.
import { randomBytes, randomInt } from 'node:crypto';
import { type Clock, iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import { type From, secretHash } from '../session/index.ts';
import type { SignInRequest } from './schema.ts';

export const GOOD_MS = 10 * 60 * 1000;
export const COLLECT_EVERY_SECONDS = 2;
/** Each is a few hundred bytes; whoever asks for them in a flood keeps others of the same address out. */
export const MOST_EACH = 5;
const MOST = 500;

/** Letters that cannot be taken for one another, and make no words. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';

interface Waiting {
  readonly code: string;
  readonly program: string;
  readonly from: From;
  readonly startedAt: number;
  readonly until: number;
  /** By the monotonic clock. */
  readonly ends: number;
  /** Who has approved it; null: somebody has refused it. */
  by?: string | null;
}

/** As it is typed: in small letters, without the hyphen. */
const plain = (code: string) => code.toUpperCase().replace(/[^A-Z]/g, '');

export class SignInRequests {
  readonly #clock: Clock;
  /** By the hash of the program's secret. */
  readonly #waiting = new Map<string, Waiting>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  #forgetEnded(): void {
    for (const [hash, { ends }] of this.#waiting) if (ends <= this.#clock.monotonic()) this.#waiting.delete(hash);
  }

  start(program: string, from: From): { secret: string; code: string; until: number } {
    this.#forgetEnded();
    const mine = [...this.#waiting.values()].filter((one) => one.from.address === from.address).length;
    if (mine >= MOST_EACH || this.#waiting.size >= MOST) {
      throw fail(
        'too_many',
        `${mine >= MOST_EACH ? `${mine} programs at ${from.address}` : 'Too many programs'} wait to be signed in already.`,
        'Approve or refuse them, or try again in ten minutes.',
      );
    }
    const secret = randomBytes(32).toString('base64url');
    const letters = Array.from({ length: 8 }, () => LETTERS[randomInt(LETTERS.length)]).join('');
    const code = `${letters.slice(0, 4)}-${letters.slice(4)}`;
    const now = this.#clock.now();
    const ends = this.#clock.monotonic() + GOOD_MS;
    this.#waiting.set(secretHash(secret), { code, program, from, startedAt: now, until: now + GOOD_MS, ends });
    return { secret, code, until: now + GOOD_MS };
  }

  #byCode(code: string): [string, Waiting] {
    this.#forgetEnded();
    for (const [hash, one] of this.#waiting)
      if (one.by === undefined && plain(one.code) === plain(code)) return [hash, one];
    throw fail(
      'not_found',
      'No program waits under this code.',
      'Compare it with what the program shows. After ten minutes it has to ask anew.',
    );
  }

  get(code: string): SignInRequest {
    const [, one] = this.#byCode(code);
    return {
      ...{ code: one.code, program: one.program, address: one.from.address },
      ...{ startedAt: iso(one.startedAt), until: iso(one.until) },
    };
  }

  /** `user` null: it is refused. */
  decide(code: string, user: string | null): void {
    this.#byCode(code)[1].by = user;
  }

  /** What became of it; once it was decided it is forgotten. */
  collect(secret: string): { by: string | null; from: From } | 'waiting' {
    this.#forgetEnded();
    const hash = secretHash(secret);
    const one = this.#waiting.get(hash);
    if (one === undefined)
      throw fail('not_found', 'Nobody has signed the program in within ten minutes.', 'Begin again.');
    if (one.by === undefined) return 'waiting';
    this.#waiting.delete(hash);
    return { by: one.by, from: one.from };
  }
}
