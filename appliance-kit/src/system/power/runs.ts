// How the appliance ended before. akd writes down that it runs, and later that it was told to end. When the system starts and
// the second is missing, the run before was interrupted.
import type { Clock } from '../../base/clock.ts';
import { type Settings, setting } from '../../state/settings.ts';
import type { PowerAction } from './schema.ts';

interface Asked {
  readonly action: PowerAction;
  readonly by: string;
}

/** What ends later than this after it was asked for was ended by something else. */
const SOON_MS = 600_000;

interface Run {
  readonly bootId: string;
  /** ms since the epoch: when it was seen to run last. */
  readonly aliveAt: number;
  /** What was asked for here, and may end it any moment. */
  readonly asked: (Asked & { readonly at: number }) | null;
  /** When akd was told to end; null as long as it runs. */
  readonly endedAt: number | null;
}

export interface End {
  readonly how: 'first' | 'ordered' | 'interrupted';
  /** ms since the epoch. */
  readonly at: number | null;
  readonly action: PowerAction | null;
  readonly by: string | null;
}

export const runSetting = setting<Run>('power.run');
export const endSetting = setting<End>('power.end');

const FIRST: End = { how: 'first', at: null, action: null, by: null };

function endOf(run: Run | undefined): End {
  if (run === undefined) return FIRST;
  if (run.endedAt === null) return { ...FIRST, how: 'interrupted', at: run.aliveAt };
  const asked = run.asked !== null && run.endedAt - run.asked.at < SOON_MS ? run.asked : null;
  return { how: 'ordered', at: run.endedAt, action: asked?.action ?? null, by: asked?.by ?? null };
}

export class Runs {
  readonly #settings: Settings;
  readonly #clock: Clock;

  constructor(settings: Settings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  /** Called once at each start of akd. Returns how the run before ended, or null when only akd was started again. */
  began(bootId: string): End | null {
    const before = this.#settings.get(runSetting);
    const run: Run = { bootId, aliveAt: this.#clock.now(), asked: null, endedAt: null };
    if (before?.bootId === bootId) {
      this.#settings.set(runSetting, { ...run, asked: before.asked });
      return null;
    }
    const end = endOf(before);
    // In this order: a power cut between the two leaves the old run, which is found again at the next start.
    this.#settings.set(endSetting, end);
    this.#settings.set(runSetting, run);
    return end;
  }

  #change(change: Partial<Run>): void {
    const run = this.#settings.get(runSetting);
    if (run !== undefined) this.#settings.set(runSetting, { ...run, ...change });
  }

  alive(): void {
    this.#change({ aliveAt: this.#clock.now() });
  }

  /** Before it is done; null when it was not done after all. */
  asked(asked: Asked | null): void {
    this.#change({ asked: asked && { ...asked, at: this.#clock.now() } });
  }

  stopped(): void {
    this.#change({ endedAt: this.#clock.now() });
  }

  before(): End {
    return this.#settings.get(endSetting) ?? FIRST;
  }
}
