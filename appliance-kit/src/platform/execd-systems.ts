// The installed systems of a real machine, by way of execd: only root may read which one starts next time.
import { fail } from '../base/problems/problem.ts';
import type { Execd } from './execd.ts';
import { type PlatformSystem, STARTS, type SystemsPlatform } from './systems.ts';

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
