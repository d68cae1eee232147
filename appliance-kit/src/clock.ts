// The time, as something that can be handed in: every rule that waits is tested with a clock that is set by hand.
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** The API's time format. */
export function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
