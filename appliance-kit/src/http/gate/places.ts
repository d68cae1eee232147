// How many streams and files are sent at a time: of all callers together, and of each, so that nobody takes the places of others.
import { fail } from '../../base/problems/problem.ts';
import type { Caller } from './caller.ts';

export class Places {
  readonly #all: number;
  readonly #each: number;
  readonly #what: string;
  readonly #taken = new Map<string, number>();
  #count = 0;

  /** @param what is done at a place, as “pages are watching” */
  constructor(all: number, each: number, what: string) {
    this.#all = all;
    this.#each = each;
    this.#what = what;
  }

  /** Holds a place as long as the work takes; throws `too_many`, before it is begun. */
  async during<Result>(caller: Pick<Caller, 'name' | 'address'>, work: () => Promise<Result>): Promise<Result> {
    const leave = this.take(caller);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  /** Takes one; throws `too_many`. Returns how to give it back, which may be called more than once. */
  take({ name, address }: Pick<Caller, 'name' | 'address'>): () => void {
    const who = name || address;
    const own = this.#taken.get(who) ?? 0;
    if (own >= this.#each) {
      throw fail('too_many', `${own} ${this.#what} for ${who} already.`, 'End those that nobody needs, or wait.');
    }
    if (this.#count >= this.#all) throw fail('too_many', `${this.#count} ${this.#what} already.`);
    this.#count += 1;
    this.#taken.set(who, own + 1);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#count -= 1;
      const left = (this.#taken.get(who) as number) - 1;
      if (left === 0) this.#taken.delete(who);
      else this.#taken.set(who, left);
    };
  }
}
