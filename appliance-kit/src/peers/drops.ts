// Datagrams that the kernel dropped because they came faster than they were taken in: their senders are not informed.

/** Drops are one trouble as long as there are more within this time. */
const QUIET_MS = 60_000;

export class DropWatch {
  #last: number | null = null;
  #count = 0;
  #at = Number.NEGATIVE_INFINITY;

  /**
   * @param total as the store counts since its start; null when it cannot know
   * @param now ms of the monotonic clock
   * @returns how many were dropped since it began; 0 when none was within the last minute
   */
  look(total: number | null, now: number): number {
    // A number that went down was begun anew. What was dropped before the first reading is not reported.
    const more = total === null || this.#last === null ? 0 : total < this.#last ? total : total - this.#last;
    if (now - this.#at > QUIET_MS) this.#count = 0;
    if (more > 0) {
      this.#count += more;
      this.#at = now;
    }
    if (total !== null) this.#last = total;
    return this.#count;
  }
}
