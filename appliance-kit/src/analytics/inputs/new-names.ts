// Names of metrics that nobody had sent before: open pages are told at once, so that the first sample is seen as it comes.
// storaged is asked for a number, and not for the list.
import type { Clock } from '../../base/clock.ts';
import type { Changes } from '../../http/live-updates/changes.ts';

/** How long after pages were told they are told again, at least: it doubles while names go on coming, because each reads the list. */
const [SHORTEST_MS, LONGEST_MS] = [1_000, 30_000];

export class NewNames {
  readonly #parts: { clock: Clock; changes: Changes; version: () => Promise<string> };
  #known: string | undefined;
  #asking = false;
  #told = 0;
  #pauseMs = SHORTEST_MS;

  constructor(parts: { clock: Clock; changes: Changes; version: () => Promise<string> }) {
    this.#parts = parts;
  }

  async look(): Promise<void> {
    const { clock, changes, version } = this.#parts;
    if (this.#asking || !changes.watched) return;
    const since = clock.now() - this.#told;
    if (since < this.#pauseMs) return;
    this.#asking = true;
    try {
      const now = await version();
      if (now === this.#known) return;
      this.#known = now;
      this.#pauseMs = since < 2 * this.#pauseMs ? Math.min(2 * this.#pauseMs, LONGEST_MS) : SHORTEST_MS;
      this.#told = clock.now();
      changes.publish('metrics');
    } catch {
      // That the store is down is seen elsewhere.
    } finally {
      this.#asking = false;
    }
  }
}
