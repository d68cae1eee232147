// Work that would hold the process up for longer than a request may take, done in slices with a turn for all others between
// them. The work is a generator that yields wherever it may be interrupted.
import { setImmediate as turn } from 'node:timers/promises';

/** Milliseconds. Looked at when the work yields, which should be several times as often. */
const SLICE_MS = 10;

export type Sliced<T> = Generator<void, T, void>;

/** The result, after as many turns as it takes. */
export async function inSlices<T>(work: Sliced<T>): Promise<T> {
  for (;;) {
    const until = performance.now() + SLICE_MS;
    do {
      const step = work.next();
      if (step.done) return step.value;
    } while (performance.now() < until);
    await turn();
  }
}

/** The result, at once. */
export function atOnce<T>(work: Sliced<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}
