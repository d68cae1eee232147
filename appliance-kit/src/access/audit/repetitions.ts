// What can be repeated without end – refusals, reads – is recorded once, then counted, so that nobody fills the log with it:
// neither the disk, nor by pushing out what is older.
import { type Clock, iso } from '../../base/clock.ts';
import type { By } from '../../http/gate/caller.ts';

/** So long the repetitions of one thing are counted before they are recorded. */
export const GATHER_MS = 10 * 60_000;
/** Different things at a time, of strangers and of those who are known; what is more is counted together. */
export const MOST = 60;

interface Counted {
  readonly by: By;
  readonly action: string;
  readonly target: string;
  /** By the monotonic clock. */
  readonly since: number;
  readonly from: number;
  to: number;
  times: number;
}

type Write = (by: By, action: string, target: string, after: Readonly<Record<string, unknown>> | null) => void;

export class Repetitions {
  readonly #clock: Clock;
  readonly #write: Write;
  readonly #counted = new Map<string, Counted>();

  constructor(clock: Clock, write: Write) {
    this.#clock = clock;
    this.#write = write;
  }

  happened(by: By, action: string, target: string, after: Readonly<Record<string, unknown>> | null): void {
    // A stranger cannot use up what is kept for those who are known.
    const kind = by.name === '' ? 'stranger' : 'known';
    const key = JSON.stringify([kind, by.name, by.address, by.way, action, target]);
    const rest = JSON.stringify([kind]);
    const seen = this.#counted.get(key);
    const now = this.#clock.now();
    if (seen !== undefined) {
      seen.times++;
      seen.to = now;
      return;
    }
    const others = [...this.#counted.keys()].filter((one) => one.startsWith(`["${kind}"`)).length;
    if (others >= MOST) {
      const known = this.#counted.get(rest);
      if (known !== undefined) {
        known.times++;
        known.to = now;
        return;
      }
      const nobody = { name: kind === 'stranger' ? '' : 'several', address: '-', way: by.way };
      this.#begin(rest, { by: nobody, action, target: 'several, counted together', times: 1 });
      return;
    }
    this.#write(by, action, target, after);
    this.#begin(key, { by: { name: by.name, address: by.address, way: by.way }, action, target, times: 0 });
  }

  #begin(key: string, counted: Pick<Counted, 'by' | 'action' | 'target' | 'times'>): void {
    const now = this.#clock.now();
    this.#counted.set(key, { ...counted, since: this.#clock.monotonic(), from: now, to: now });
  }

  /** Records what was counted; `all`: also what is counted still. */
  record(all: boolean): void {
    for (const [key, { by, action, target, since, from, to, times }] of this.#counted) {
      if (!all && this.#clock.monotonic() - since < GATHER_MS) continue;
      this.#counted.delete(key);
      if (times > 0) this.#write(by, action, target, { repeated: { times, from: iso(from), to: iso(to) } });
    }
  }
}
