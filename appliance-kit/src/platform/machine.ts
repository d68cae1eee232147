// What an operating system says of the machine itself: how its clock is kept, its network links, its temperatures.
// Nothing of it needs privilege. A driver answers with facts; what they mean is decided in `machine/`, the same for all.

export interface TimeSource {
  /** The program that keeps the clock, by its usual name. */
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

/** How an address was got: from a DHCP server, by configuration, or made up from the network's prefix. */
export const ORIGINS = ['dhcp', 'static', 'autoconfigured'] as const;

export interface LinkAddress {
  /** Without a zone: 192.0.2.7, fe80::1. */
  readonly address: string;
  /** Bits of the network; null: not known, as at the end of a point-to-point link. */
  readonly prefix: number | null;
  /** Null: the system does not say. */
  readonly origin: (typeof ORIGINS)[number] | null;
}

/** A port, or several bonded to one; nothing that only exists in software. */
export interface PlatformLink {
  readonly name: string;
  readonly bond: boolean;
  /** The bond that it belongs to, or null. */
  readonly member: string | null;
  /** False: it was switched off, or nothing uses it. */
  readonly enabled: boolean;
  /** It has a carrier: a cable, and a live port at its other end. */
  readonly carrier: boolean;
  /** Megabits a second; null: not known, as with most virtual ones. */
  readonly megabits: number | null;
  /** Bytes that a packet may have; null: not known. */
  readonly mtu: number | null;
  /** 02:00:5e:10:00:01; null: not known, or there is none of that kind. */
  readonly mac: string | null;
  /** Those in use; null: the system cannot be asked for them. */
  readonly addresses: readonly LinkAddress[] | null;
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
