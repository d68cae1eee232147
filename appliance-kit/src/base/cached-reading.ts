// A reading of the machine that no request waits for: the last known answer with its age, renewed behind it. A
// disk that hangs makes the answer older, not the page slower.
import type { Clock } from './clock.ts';
import { asProblem } from './problems/problem.ts';

export interface Reading<T> {
  readonly value: T;
  readonly ageSeconds: number;
  /** Why it could not be renewed, or null. */
  readonly error: string | null;
}

export class CachedReading<T> {
  readonly #read: () => Promise<T>;
  readonly #clock: Clock;
  readonly #maxAgeMs: number;
  readonly #patienceMs: number;
  readonly #nothing: T;
  #value: T | undefined;
  /** By the monotonic clock: one that is set back must not keep an old answer. */
  #at = 0;
  #failure: unknown = null;
  #renewing: Promise<void> | null = null;

  /**
   * @param maxAgeMs an answer younger than this is not renewed
   * @param patienceMs how long a caller waits for a renewal before it gets the last known answer
   * @param nothing the answer as long as there was none
   */
  constructor(read: () => Promise<T>, clock: Clock, options: { maxAgeMs: number; patienceMs: number; nothing: T }) {
    this.#read = read;
    this.#clock = clock;
    this.#maxAgeMs = options.maxAgeMs;
    this.#patienceMs = options.patienceMs;
    this.#nothing = options.nothing;
  }

  /** At most one reading runs at a time, so a hanging disk holds up one process, not one for each request. */
  #renew(): Promise<void> {
    this.#renewing ??= this.#read()
      .then(
        (value) => {
          this.#value = value;
          this.#at = this.#clock.monotonic();
          this.#failure = null;
        },
        (error: unknown) => {
          this.#failure = error ?? new Error('unknown failure');
        },
      )
      .finally(() => {
        this.#renewing = null;
      });
    return this.#renewing;
  }

  /** @param maxAgeMs another one than usual: for whoever can do with an older answer */
  async get(maxAgeMs = this.#maxAgeMs): Promise<Reading<T>> {
    if (this.#value === undefined || this.#clock.monotonic() - this.#at > maxAgeMs)
      await this.#patiently(this.#renew());
    return this.last();
  }

  /** A reading that began after this call if it ends in time; else the last known one. */
  async soon(): Promise<Reading<T>> {
    await this.#patiently(Promise.resolve(this.#renewing).then(() => this.#renew()));
    return this.last();
  }

  /** A reading that began after this call, however long it takes: for deciding, not for showing. Throws its error. */
  async now(): Promise<T> {
    await this.#renewing;
    await this.#renew();
    if (this.#failure !== null) throw this.#failure;
    return this.#value as T;
  }

  last(): Reading<T> {
    const known = this.#value !== undefined;
    return {
      value: known ? (this.#value as T) : this.#nothing,
      ageSeconds: known ? Math.max(0, (this.#clock.monotonic() - this.#at) / 1000) : 0,
      error:
        this.#failure !== null ? asProblem(this.#failure).detail : known ? null : 'The machine has not answered yet.',
    };
  }

  async #patiently(work: Promise<void>): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const enough = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.#patienceMs);
    });
    await Promise.race([work, enough]);
    clearTimeout(timer);
  }
}
