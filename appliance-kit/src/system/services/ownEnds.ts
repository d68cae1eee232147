// How often akd itself has ended without a request to, since the system was started: what is kept in memory is gone with
// it, so nothing else would know that it ends repeatedly.
import { type Settings, setting } from '../../state/settings.ts';
import { WITHIN_MS } from './restarts.ts';

interface Kept {
  readonly bootId: string;
  /** It was started, and not stopped in order since. */
  readonly running: boolean;
  /** When it was found to have ended, ms since the system was started: of the last five minutes. */
  readonly ends: readonly number[];
}

export const ownEnds = setting<Kept>('services.ownEnds');

export class OwnEnds {
  readonly #settings: Settings;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /**
   * Called once at each start.
   * @param upMs since the system was started: a clock that goes on over the ends of akd
   * @returns how many ms ago each of its ends within the last five minutes was
   */
  began(bootId: string, upMs: number): number[] {
    const kept = this.#settings.get(ownEnds);
    const before = kept?.bootId === bootId ? kept : { running: false, ends: [] };
    const ends = [...before.ends, ...(before.running ? [upMs] : [])].filter((at) => at > upMs - WITHIN_MS);
    this.#settings.set(ownEnds, { bootId, running: true, ends } satisfies Kept);
    return ends.map((at) => upMs - at);
  }

  /** It ends on request. */
  stopped(): void {
    const kept = this.#settings.get(ownEnds);
    if (kept !== undefined) this.#settings.set(ownEnds, { ...kept, running: false } satisfies Kept);
  }
}
