// What a host's state is. Silence is measured by the store's clock, against the host's own habit, and without the time in
// which the store itself was down: nobody could be heard then.

export type HostState = 'reporting' | 'late' | 'absent' | 'retired';
export const HOST_STATES = ['absent', 'late', 'reporting', 'retired'] as const;

/** Absent is who is silent for three of its usual intervals, and this long at least. */
export const ABSENT_AT_LEAST_S = 30;
const ABSENT_INTERVALS = 3;
const LATE_AT_LEAST_S = 15;
const LATE_INTERVALS = 1.5;
/** Of a host that was heard once: what is looked back for elsewhere, five minutes, is three of these. */
const UNKNOWN_INTERVAL_S = 100;

export const limitsOf = (intervalSeconds: number) => {
  const usual = intervalSeconds > 0 ? intervalSeconds : UNKNOWN_INTERVAL_S;
  return {
    lateAfter: Math.max(LATE_AT_LEAST_S, LATE_INTERVALS * usual),
    absentAfter: Math.max(ABSENT_AT_LEAST_S, ABSENT_INTERVALS * usual),
  };
};

/** When the store answered, when it started, and when it had heard of any host last before that; seconds. */
export interface StoreTimes {
  readonly now: number;
  readonly started: number;
  readonly heardBefore: number;
}

export function silentSeconds(heard: number, { now, started, heardBefore }: StoreTimes): number {
  const down = heard < started ? Math.max(0, started - Math.max(heardBefore, heard)) : 0;
  return Math.max(0, now - heard - down);
}

export function stateOf(
  host: { readonly heardTime: number; readonly intervalSeconds: number },
  retiredAt: number | null,
  times: StoreTimes,
): HostState {
  // Who is heard of again is no longer retired.
  if (retiredAt !== null && host.heardTime <= retiredAt) return 'retired';
  const silent = silentSeconds(host.heardTime, times);
  const { lateAfter, absentAfter } = limitsOf(host.intervalSeconds);
  return silent > absentAfter ? 'absent' : silent > lateAfter ? 'late' : 'reporting';
}
