// What goes wrong slowly is looked at once an hour; a look that fails changes nothing, and is repeated after a minute: at
// boot the others may not be up yet.
import type { Log } from '../base/log.ts';
import { asProblem } from '../base/problems/problem.ts';

const HOUR_MS = 3_600_000;
const AGAIN_MS = 60_000;

export class Hourly {
  readonly #log: Log;
  readonly #failed: string;
  readonly #work: () => Promise<void>;
  #timer: NodeJS.Timeout | undefined;

  /** @param failed the log message when it fails */
  constructor(log: Log, failed: string, work: () => Promise<void>) {
    this.#log = log;
    this.#failed = failed;
    this.#work = work;
  }

  start(afterMs = 0): void {
    this.#timer = setTimeout(async () => {
      const well = await this.look();
      if (this.#timer !== undefined) this.start(well ? HOUR_MS : AGAIN_MS);
    }, afterMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Looks now. Returns whether it could. */
  async look(): Promise<boolean> {
    try {
      await this.#work();
      return true;
    } catch (error) {
      this.#log.info(this.#failed, { error: asProblem(error).detail });
      return false;
    }
  }
}
