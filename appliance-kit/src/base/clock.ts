// The time, as something that can be handed in: every rule that waits is tested with a clock that is set by hand.
export interface Clock {
  /** Milliseconds since the epoch. It jumps when the clock is set. */
  now(): number;
  /** Milliseconds since some moment; never set, so for measuring how long something has lasted. */
  monotonic(): number;
}

export const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now() };

/** The API's time format. */
export function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
