// Looks at everything that domains have asked it to, every few seconds and whenever something is known to have
// changed: the pages are informed of what is different, and conditions are reported to the alerts. Events of the system
// (platform/poolEvents.ts) only make it look sooner: events get lost.
import type { Changes } from '../http/live-updates/changes.ts';

export interface Watch {
  /**
   * Reads, and returns what is to be done with the reading. All watches read at the same time; what they return is called
   * in the order of the domains, so that a cause is reported before what it explains. A reading that fails reports
   * nothing, and so clears nothing.
   */
  look(): Promise<() => void | Promise<void>>;
}

/** Publishes a change when a reading differs from the one before it. */
export class ChangeDetector {
  readonly #changes: Changes;
  readonly #topic: string;
  #last: string | undefined;

  constructor(changes: Changes, topic: string) {
    this.#changes = changes;
    this.#topic = topic;
  }

  compare(value: unknown): void {
    const text = JSON.stringify(value);
    if (this.#last !== text) this.#changes.publish(this.#topic);
    this.#last = text;
  }
}

export class Poller {
  readonly #watches: Watch[] = [];
  #looking: Promise<void> | null = null;
  #again = false;
  #stopped = false;

  add(watches: readonly Watch[]): void {
    this.#watches.push(...watches);
  }

  /** Polls now, or again when a poll is under way that may have begun too early. */
  look(): Promise<void> {
    if (this.#looking !== null) {
      this.#again = true;
      return this.#looking;
    }
    this.#looking = this.#round().finally(() => {
      this.#looking = null;
      if (this.#again && !this.#stopped) {
        this.#again = false;
        void this.look();
      }
    });
    return this.#looking;
  }

  /** What is being read is not reported any more. */
  stop(): void {
    this.#stopped = true;
  }

  async #round(): Promise<void> {
    const readings = this.#watches.map((watch) => watch.look().catch(() => null));
    for (const reading of readings) {
      const report = await reading;
      if (report === null || this.#stopped) continue;
      try {
        await report();
      } catch {
        // What cannot be reported now is reported in the next round.
      }
    }
  }
}
