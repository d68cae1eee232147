// Errors that parts have reported, counted since the machine was started or since a user cleared them. Counters of the
// kernel begin at 0 with each start; what was cleared is remembered with the start it belongs to.
import { iso } from '../../base/clock.ts';
import type { PartErrors, Port } from '../../platform/hardware.ts';
import { type Setting, type Settings, setting } from '../../state/settings.ts';

export interface Counted extends Omit<PartErrors, 'kind' | 'behind'> {
  readonly kind: PartErrors['kind'] | 'link';
  readonly clearedAt: string | null;
  /** It is an alert. */
  readonly alarming: boolean;
}

interface Cleared {
  readonly bootId: string;
  readonly parts: Readonly<Record<string, { corrected: number; uncorrected: number; at: string }>>;
}
export const clearedErrors: Setting<Cleared> = setting<Cleared>('hardware.cleared-errors');

/**
 * How many corrected errors are too many. A cosmic ray flips a bit of a large memory every few weeks, and a link of PCI
 * Express that is well corrects a few; a part that fails has them by the hundred.
 */
export const MANY_CORRECTED = { memory: 100, processor: 10, pcie: 100 } as const;
/** Of a network link: as many packets, and as large a share of all. A link within its specification loses one of 10^8. */
export const LOST = { packets: 100, ratio: 1e-4 } as const;

const linkPart = (name: string) => `link/${name}`;

export class ErrorCounts {
  readonly #settings: Settings;
  #cleared: Cleared;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#cleared = settings.get(clearedErrors) ?? { bootId: '', parts: {} };
  }

  #since(bootId: string, part: string) {
    return this.#cleared.bootId === bootId ? this.#cleared.parts[part] : undefined;
  }

  /** @param titles of cards, by their place */
  count(
    bootId: string,
    errors: readonly PartErrors[],
    ports: readonly Port[],
    titles: ReadonlyMap<string, string>,
  ): Counted[] {
    const raw: Omit<Counted, 'clearedAt' | 'alarming'>[] = [
      ...errors.map((one) => {
        const { behind, ...rest } = one;
        const [title, next] = one.kind === 'pcie' ? [titles.get(one.part), titles.get(behind ?? '')] : [];
        if (title !== undefined) return { ...rest, title: `${title} (${one.part})` };
        return next === undefined ? rest : { ...rest, title: `${one.title}, which leads to ${next} (${behind}),` };
      }),
      ...ports.map(({ name, errors: lost, packets }) => ({
        ...{ kind: 'link' as const, part: linkPart(name), title: `The network link ${name}` },
        ...{ corrected: 0, uncorrected: lost },
        detail: lost === 0 ? '' : `${lost} of ${packets + lost} packets since the start`,
      })),
    ];
    const packets = new Map(ports.map((port) => [linkPart(port.name), port.packets + port.errors]));
    return raw.map((one) => {
      const since = this.#since(bootId, one.part);
      // A counter that fell began anew: its driver was loaded again.
      const beyond = (value: number, before = 0) => (value >= before ? value - before : value);
      const corrected = beyond(one.corrected, since?.corrected);
      const uncorrected = beyond(one.uncorrected, since?.uncorrected);
      const alarming =
        one.kind === 'link'
          ? uncorrected >= LOST.packets && uncorrected / (packets.get(one.part) || 1) >= LOST.ratio
          : uncorrected > 0 || corrected >= MANY_CORRECTED[one.kind];
      return { ...one, corrected, uncorrected, alarming, clearedAt: since?.at ?? null };
    });
  }

  /** From what the kernel counts now, which `count` is then handed again. False: there is no such part. */
  clear(bootId: string, part: string, errors: readonly PartErrors[], ports: readonly Port[], now: number): boolean {
    const port = ports.find(({ name }) => linkPart(name) === part);
    const found =
      port === undefined ? errors.find((one) => one.part === part) : { corrected: 0, uncorrected: port.errors };
    if (found === undefined) return false;
    const before = this.#cleared.bootId === bootId ? this.#cleared.parts : {};
    const { corrected, uncorrected } = found;
    this.#cleared = { bootId, parts: { ...before, [part]: { corrected, uncorrected, at: iso(now) } } };
    this.#settings.set(clearedErrors, this.#cleared);
    return true;
  }
}
