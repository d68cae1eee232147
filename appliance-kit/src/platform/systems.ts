// The installed systems of a real machine: slots A and B of the Debian image, boot environments of OmniOS. Their names are
// the operating system's. Which one starts next time only root may read, so execd does both.

/**
 * `next`: it starts next time, and then again; `once`: next time only; `later`: always, but for the next time, which is
 * another one's.
 */
export const STARTS = ['next', 'once', 'later', 'no'] as const;

export interface PlatformSystem {
  readonly name: string;
  readonly running: boolean;
  readonly starts: (typeof STARTS)[number];
  /** ms since the epoch; null: it does not say. */
  readonly createdMs: number | null;
  /** What it takes on its disk; null: not known. */
  readonly bytes: number | null;
  /** Of Cistern; null: not known, for only the one that runs can be looked into everywhere. */
  readonly version: string | null;
  /** A sentence: why it cannot be chosen; empty when it can. */
  readonly obstacle: string;
}

/** Each call fails with a ProblemError when the system cannot be asked, or refuses. */
export interface SystemsPlatform {
  list(): Promise<PlatformSystem[]>;
  /** It starts from the next time on. Resolves with what was read back. */
  activate(name: string): Promise<PlatformSystem[]>;
}
