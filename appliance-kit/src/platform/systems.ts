// The installed systems of a real machine: slots A and B of the Debian image, boot environments of OmniOS. Their names are
// the operating system's. Which one starts next time only root may read, so execd does both.

import { fail } from '../http/problems/problem.ts';
import type { Execd } from '../peers/execd.ts';

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

const nothingOr = (type: string) => (value: unknown) => value === null || typeof value === type;
const is = (type: string) => (value: unknown) => typeof value === type;
const FIELDS: Record<keyof PlatformSystem, (value: unknown) => boolean> = {
  ...{ name: is('string'), running: is('boolean'), obstacle: is('string') },
  starts: (value) => STARTS.includes(value as PlatformSystem['starts']),
  ...{ createdMs: nothingOr('number'), bytes: nothingOr('number'), version: nothingOr('string') },
};

/** @param answer of execd's verbs `system.list` and `system.activate` */
export function parseSystems(answer: unknown): PlatformSystem[] {
  const systems = (answer as { systems?: unknown } | null)?.systems;
  // Go writes null for a list in which there is nothing.
  if (systems === null) return [];
  const right = (one: Record<string, unknown> | null) =>
    one !== null && Object.entries(FIELDS).every(([name, check]) => check(one[name]));
  if (!Array.isArray(systems) || !systems.every(right)) {
    throw fail('command_failed', 'What execd says of the installed systems cannot be read.');
  }
  return systems as PlatformSystem[];
}

export function execdSystems(execd: Execd): SystemsPlatform {
  return {
    list: async () => parseSystems(await execd.run('system.list', {})),
    activate: async (name) => parseSystems(await execd.run('system.activate', { name })),
  };
}
