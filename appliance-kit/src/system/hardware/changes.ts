// What is different from what the appliance knew of its hardware: parts that are missing, new, or in another place.
// Reported once, and then what is there is what is known.
import { size } from '../../base/words.ts';
import type { Card, Inventory, Port } from '../../platform/hardware.ts';
import type { Disk } from '../../storage/inventory/index.ts';

/** Kept in the settings; read also by later versions, so fields are only added. */
export interface Known {
  readonly processors: Readonly<Record<string, string>>;
  /** By slot: what is in it, in words. */
  readonly memory: Readonly<Record<string, string>>;
  /** By place. */
  readonly cards: Readonly<Record<string, string>>;
  /** Names of network ports by their hardware address. */
  readonly ports: Readonly<Record<string, string>>;
  /** Places of disks by their id. A disk that is not there is no change: it may be in a drawer for a year. */
  readonly disks: Readonly<Record<string, string>>;
}

export interface Changes {
  /** Sentences. */
  readonly changes: readonly string[];
  /** Something is not there that was. */
  readonly missing: boolean;
}

const record = (entries: Iterable<readonly [string, string]>) => Object.fromEntries(entries);
const inWords = (parts: readonly (string | null)[]) => parts.filter((part) => part !== null).join(' ');

/** @param before disks and ports that are not there now are remembered */
export function know(
  { processors, memory, cards }: Inventory,
  ports: readonly Port[],
  disks: readonly Disk[],
  before: Known | undefined,
): Known {
  const macs = ports.flatMap(({ mac, name }): [string, string][] => (mac === null ? [] : [[mac, name]]));
  // Ports of one bond show one address: then nothing is known of where each is.
  const unique = macs.filter(([mac]) => macs.filter(([other]) => other === mac).length === 1);
  return {
    processors: record(processors.map(({ socket, model }) => [socket, model ?? 'a processor'])),
    memory: record(
      memory.flatMap(({ slot, bytes, kind, maker, part, serial }): [string, string][] =>
        bytes === null ? [] : [[slot, inWords([size(bytes), kind, maker, part, serial])]],
      ),
    ),
    cards: record(cards.map(({ place, title }: Card) => [place, title])),
    ports: { ...before?.ports, ...record(unique) },
    disks: {
      ...before?.disks,
      ...record(disks.flatMap(({ id, place }): [string, string][] => (place === null ? [] : [[id, place]]))),
    },
  };
}

function parts(
  before: Readonly<Record<string, string>>,
  now: Readonly<Record<string, string>>,
  words: (place: string, what: string) => string,
): { changes: string[]; missing: boolean } {
  const gone = Object.keys(before).filter((place) => now[place] === undefined);
  const fresh = Object.keys(now).filter((place) => before[place] === undefined);
  // The same part elsewhere was moved.
  const moved = gone.flatMap((from) => {
    const to = fresh.find((place) => now[place] === before[from]);
    if (to === undefined) return [];
    fresh.splice(fresh.indexOf(to), 1);
    return [[from, to] as const];
  });
  const missing = gone.filter((place) => !moved.some(([from]) => from === place));
  const other = Object.keys(now).filter((place) => before[place] !== undefined && before[place] !== now[place]);
  const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
  return {
    changes: [
      ...missing.map((place) => sentence(`${words(place, before[place] as string)} is missing`)),
      ...other.map((place) => sentence(`${words(place, before[place] as string)} was replaced by ${now[place]}`)),
      ...moved.map(([from, to]) => sentence(`${words(from, before[from] as string)} is now in ${to}`)),
      ...fresh.map((place) => sentence(`${words(place, now[place] as string)} is new`)),
    ],
    missing: missing.length > 0,
  };
}

/** More of one kind than this are one sentence: a controller that failed takes all of its parts along. */
const MANY = 6;

export function compare(before: Known, now: Known): Changes {
  const all = [
    parts(before.processors, now.processors, (place, what) => `the processor in ${place} (${what})`),
    parts(before.memory, now.memory, (place, what) => `the memory module in ${place} (${what})`),
    parts(before.cards, now.cards, (place, what) => `the card at ${place} (${what})`),
  ];
  const renamed = Object.entries(now.ports).flatMap(([mac, name]) =>
    before.ports[mac] === undefined || before.ports[mac] === name
      ? []
      : [
          `The network port with the address ${mac} was ${before.ports[mac]} and is ${name} now: its card is in another slot, or the firmware counts the slots otherwise.`,
        ],
  );
  const moved = Object.entries(now.disks).flatMap(([id, place]) =>
    before.disks[id] === undefined || before.disks[id] === place
      ? []
      : [`The disk ${id} was in ${before.disks[id]} and is in ${place} now. Its pool finds it there.`],
  );
  const few = (sentences: readonly string[]) =>
    sentences.length <= MANY
      ? sentences
      : [...sentences.slice(0, MANY - 1), `And ${sentences.length - MANY + 1} more changes of this kind.`];
  return {
    changes: [...all.map(({ changes }) => changes), renamed, moved].flatMap(few),
    missing: all.some(({ missing }) => missing),
  };
}
