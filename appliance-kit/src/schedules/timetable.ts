// Runs what is due, each second. What was due while akd was not running is done once, late, and not once for each
// time it was missed. A run that is still going when its next turn comes is not started twice.

import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { logFailure } from '../base/problems/log-failure.ts';
import { nextRun } from './schedule.ts';
import type { Schedule } from './schema.ts';

export interface Entry {
  /** Its unique key: `scrub/tank`. */
  readonly id: string;
  readonly schedule: Schedule;
  /** When it last ran, or was made: what was due since then and was not done is done now. */
  readonly since: number;
  /** `due`: the moment it was meant for. A failure is logged; raising an alert is left to the entry. */
  readonly run: (due: number) => Promise<void>;
}

export class Timetable {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #timeZone: () => string;
  readonly #sources: (() => readonly Entry[])[] = [];
  /** The next moment of each entry, with what it was worked out from. */
  readonly #next = new Map<string, { key: string; at: number }>();
  readonly #running = new Map<string, Promise<void>>();
  #timer: NodeJS.Timeout | null = null;

  constructor(parts: { clock: Clock; log: Log; timeZone: () => string }) {
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#timeZone = parts.timeZone;
  }

  /** A domain's entries, asked for at every tick: what is changed or removed counts at once. */
  add(source: () => readonly Entry[]): void {
    this.#sources.push(source);
  }

  /** The next moment of an entry, as the pages show it. */
  nextOf(schedule: Schedule, since: number): number {
    return nextRun(schedule, this.#timeZone(), Math.max(since, this.#clock.now()));
  }

  tick(): void {
    const now = this.#clock.now();
    const timeZone = this.#timeZone();
    const seen = new Set<string>();
    for (const entry of this.#sources.flatMap((source) => source())) {
      seen.add(entry.id);
      const key = JSON.stringify([entry.schedule, entry.since, timeZone]);
      let next = this.#next.get(entry.id);
      if (next?.key !== key) {
        next = { key, at: nextRun(entry.schedule, timeZone, entry.since) };
        this.#next.set(entry.id, next);
      }
      if (next.at > now || this.#running.has(entry.id)) continue;
      const due = next.at;
      this.#next.set(entry.id, { key, at: nextRun(entry.schedule, timeZone, now) });
      const run = entry
        .run(due)
        .catch((error: unknown) => logFailure(this.#log, 'a scheduled run failed', error, { entry: entry.id }))
        .finally(() => this.#running.delete(entry.id));
      this.#running.set(entry.id, run);
    }
    for (const id of this.#next.keys()) if (!seen.has(id)) this.#next.delete(id);
  }

  /** Ticks right after each full second of the system's clock. */
  start(): void {
    const again = () => {
      this.#timer = setTimeout(
        () => {
          this.tick();
          again();
        },
        1000 - (Date.now() % 1000) + 2,
      );
    };
    again();
  }

  async stop(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    await this.settled();
  }

  /** For tests, and for an orderly end. */
  async settled(): Promise<void> {
    await Promise.all(this.#running.values());
  }
}
