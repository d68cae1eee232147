// Which network links are down that should be up: those that have had a carrier before. A port that never had
// a cable is no problem. What had one is remembered until a user forgets it.

import type { PlatformLink } from '../../platform/machine.ts';
import { type Settings, setting } from '../../state/settings.ts';
import type { MachineLink } from './schema.ts';

export const seenLinks = setting<string[]>('machine.links');

function speed(megabits: number | null): string {
  if (megabits === null) return 'It is up.';
  return `It is up, with ${megabits >= 1000 ? `${megabits / 1000} Gbit/s` : `${megabits} Mbit/s`}.`;
}

function describe(link: PlatformLink, seen: boolean): MachineLink {
  const { enabled, carrier, addresses, ...facts } = link;
  const { bond, megabits } = facts;
  const rest = { ...facts, addresses: addresses === null ? null : [...addresses] };
  if (carrier) return { ...rest, state: 'up', sentence: speed(megabits) };
  if (!enabled) return { ...rest, state: 'off', sentence: 'It is switched off.' };
  if (!seen) return { ...rest, state: 'unused', sentence: 'Nothing was ever plugged in.' };
  const sentence = bond
    ? 'None of its ports has a carrier.'
    : 'It has no carrier: the cable, or what is at its other end, is at fault.';
  return { ...rest, state: 'down', sentence };
}

export class Links {
  readonly #settings: Settings;
  readonly #seen: Set<string>;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#seen = new Set(settings.get(seenLinks) ?? []);
  }

  #keep(): void {
    this.#settings.set(seenLinks, [...this.#seen].sort());
  }

  /** Remembers those that have a carrier now. */
  look(links: readonly PlatformLink[]): MachineLink[] {
    const before = this.#seen.size;
    for (const { name, carrier } of links) if (carrier) this.#seen.add(name);
    if (this.#seen.size !== before) this.#keep();
    const present = new Set(links.map(({ name }) => name));
    const gone = [...this.#seen].filter((name) => !present.has(name));
    return [
      ...links.map((link) => describe(link, this.#seen.has(link.name))),
      ...gone.map((name) => ({
        ...{ name, bond: false, member: null, megabits: null, mtu: null, mac: null, addresses: [] },
        state: 'gone' as const,
        sentence: 'It is not there any more: the system does not find it.',
      })),
    ];
  }

  /** False when it was not remembered. */
  forget(name: string): boolean {
    const known = this.#seen.delete(name);
    if (known) this.#keep();
    return known;
  }
}
