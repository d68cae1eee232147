// What an operating system says of the machine itself: how its clock is kept, its network links, its temperatures.
// Nothing of it needs privilege. A driver answers with facts; what they mean is decided in `machine/`, the same for all.

export interface TimeSource {
  /** The program that keeps the clock, as people find it. */
  readonly daemon: string;
  /** False: it does not run, or does not answer. */
  readonly running: boolean;
  /** The server it follows now, by name or address; null: none. */
  readonly source: string | null;
  /** When a server last answered, ms since the epoch by today's clock; null: never, or the program does not say. */
  readonly answeredAt: number | null;
  /** Seconds between two questions to the server; null: not known. */
  readonly pollSeconds: number | null;
  /** Seconds that this clock and the server are apart, without sign; null: not known. */
  readonly offsetSeconds: number | null;
  /** What the program says itself. */
  readonly synchronised: boolean;
}

/** A port, or several bonded to one; nothing that only exists in software. */
export interface PlatformLink {
  readonly name: string;
  readonly bond: boolean;
  /** The bond that it belongs to, or null. */
  readonly member: string | null;
  /** False: it was switched off, or nothing uses it. */
  readonly enabled: boolean;
  /** It has a carrier: a cable, and somebody at its other end. */
  readonly carrier: boolean;
  /** Megabits a second; null: not known, as with most virtual ones. */
  readonly megabits: number | null;
}

export interface Sensor {
  /** The same after a reboot. */
  readonly id: string;
  readonly title: string;
  readonly celsius: number;
  /** Limits that the sensor states itself; null: none. */
  readonly maximum: number | null;
  readonly critical: number | null;
}

/** Each call fails with a ProblemError when the system cannot be asked. */
export interface MachinePlatform {
  timeSource(): Promise<TimeSource>;
  links(): Promise<PlatformLink[]>;
  /** Of the machine, without its disks: those are asked by SMART. */
  sensors(): Promise<Sensor[]>;
}
