// Whether the clock is right, by what the program says that keeps it; and whether it was set.
import { type Clock, iso } from '../../base/clock.ts';
import { ago, duration } from '../../base/words.ts';
import type { TimeSource } from '../../platform/machine.ts';
import type { MachineClock } from './schema.ts';

/**
 * A tenth of the one-second resolution that measurements are kept with. A server in the same building or the same country
 * keeps a clock within a few milliseconds of its own.
 */
export const OFFSET_LIMIT_SECONDS = 0.1;
/** As many questions in a row may be lost before a server counts as gone, and at least this long. */
const LOST_POLLS = 3;
const LOST_SECONDS = 600;
/** The clock was set, not turned: no program that turns it moves it by this much between two looks. */
export const STEP_MS = 1_000;

/** In seconds or milliseconds, with as many digits as mean something. */
export function apart(seconds: number): string {
  if (seconds >= 100) return duration(seconds);
  return seconds >= 1 ? `${Number(seconds.toPrecision(3))} s` : `${Number((seconds * 1000).toPrecision(2))} ms`;
}

/** What is wrong, as a sentence; null when the clock is kept well. @param now ms since the epoch */
export function fault(time: TimeSource, now: number): string | null {
  const { daemon, running, source, answeredAt, pollSeconds, offsetSeconds, synchronised } = time;
  if (!running) return `${daemon}, which keeps the clock, does not run.`;
  const last = answeredAt === null ? '' : ` The last answer came ${ago(now - answeredAt)}.`;
  if (!synchronised) return `${daemon} has no time server that answers.${last}`;
  const patience = Math.max(LOST_SECONDS, LOST_POLLS * (pollSeconds ?? 0));
  if (answeredAt !== null && now - answeredAt > patience * 1000)
    return `${source ?? 'The time server'} does not answer any more.${last}`;
  if (offsetSeconds !== null && offsetSeconds > OFFSET_LIMIT_SECONDS)
    return `It is ${apart(offsetSeconds)} off from ${source ?? 'its time server'}; ${apart(OFFSET_LIMIT_SECONDS)} is the limit.`;
  return null;
}

/** @param lasting it has been so for longer than is waited for */
export function describeClock(time: TimeSource, now: number, lasting: boolean): MachineClock {
  const wrong = fault(time, now);
  const { daemon, source, answeredAt, offsetSeconds } = time;
  const off = offsetSeconds === null ? '' : `, ${apart(offsetSeconds)} apart from it`;
  return {
    state: wrong === null ? 'synchronised' : lasting ? 'unsynchronised' : 'waiting',
    sentence: wrong ?? `It follows ${source ?? 'a time server'}${off}.`,
    ...{ daemon, source, offsetSeconds },
    answeredAt: answeredAt === null ? null : iso(answeredAt),
  };
}

/** Notices that the clock was set: it then moved otherwise than the monotonic clock. */
export class Steps {
  readonly #clock: Clock;
  readonly #raise: (args: { seconds: number; at: string }) => void;
  #ahead: number | null = null;

  constructor(clock: Clock, raise: (args: { seconds: number; at: string }) => void) {
    this.#clock = clock;
    this.#raise = raise;
  }

  look(): void {
    const before = this.#clock.monotonic();
    const now = this.#clock.now();
    // The process may have been kept from running between the two: then they say nothing together.
    if (this.#clock.monotonic() - before > STEP_MS / 4) return;
    const ahead = now - before;
    const moved = this.#ahead === null ? 0 : ahead - this.#ahead;
    this.#ahead = ahead;
    if (Math.abs(moved) > STEP_MS) this.#raise({ seconds: moved / 1000, at: iso(now) });
  }
}
