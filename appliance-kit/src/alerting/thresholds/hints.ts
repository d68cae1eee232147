// Rules whose limit has just been crossed are asked about at once, not when their turn comes: the store watches the limits
// of those whose expression is a plain selector (POST /admin/watch), and names the ones that a sample goes beyond. Only a
// hint: every rule is evaluated in its turn as well, so that one that is missing costs seconds and nothing else.
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { Log } from '../../base/log.ts';
import { asProblem } from '../../base/problems/problem.ts';
import type { Limit } from '../../peers/storaged.ts';

export interface HintedRules {
  /** Those that are evaluated, by id. */
  limits(): ReadonlyMap<string, Limit>;
  evaluateSoon(ids: readonly string[]): void;
  /** Those that are watched from now on; of the others nothing is told. */
  watched(ids: ReadonlySet<string>): void;
}

export interface HintParts {
  readonly rules: HintedRules;
  readonly storaged: { watch(limits: readonly Limit[]): Promise<Readable> };
  readonly log: Log;
  /** After the rules have changed, for there is mostly more to come; and before a store that is down is tried again. */
  readonly settleMs?: number;
}

const SETTLE_MS = 1_000;
/** The store says something every 15 s; one that does not is tried anew. */
const SILENT_MS = 60_000;

export class Hints {
  readonly #parts: HintParts;
  readonly #settleMs: number;
  #timer: NodeJS.Timeout | undefined;
  #stream: Readable | undefined;
  #opening = false;
  #again = false;
  #stopped = true;
  #failed: string | null = null;

  constructor(parts: HintParts) {
    this.#parts = parts;
    this.#settleMs = parts.settleMs ?? SETTLE_MS;
  }

  start(): void {
    this.#stopped = false;
    this.changed();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#stream?.destroy();
  }

  /** The rules have: from soon on the new ones are watched. */
  changed(): void {
    if (this.#stopped) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#open(), this.#settleMs);
  }

  async #open(): Promise<void> {
    if (this.#opening) {
      this.#again = true;
      return;
    }
    this.#opening = true;
    const limits = this.#parts.rules.limits();
    try {
      const fresh = limits.size === 0 ? undefined : await this.#parts.storaged.watch([...limits.values()]);
      // Only now, so that there is no moment that nobody watches.
      this.#stream?.destroy();
      this.#stream = this.#stopped ? undefined : fresh;
      if (fresh === undefined) this.#parts.rules.watched(new Set());
      if (this.#stopped) fresh?.destroy();
      else if (fresh !== undefined) this.#read(fresh, [...limits.keys()]);
      this.#failed = null;
    } catch (error) {
      const { detail } = asProblem(error);
      if (detail !== this.#failed)
        this.#parts.log.info('limits are not watched; rules wait their turn', { error: detail });
      this.#failed = detail;
      this.changed();
    } finally {
      this.#opening = false;
      if (this.#again) {
        this.#again = false;
        this.changed();
      }
    }
  }

  #read(stream: Readable, ids: readonly string[]): void {
    const silence = setTimeout(() => stream.destroy(), SILENT_MS).unref();
    const lines = createInterface({ input: stream });
    let first = true;
    lines.on('line', (line) => {
      silence.refresh();
      try {
        const { crossed = [], leftOut } = JSON.parse(line) as { crossed?: number[]; leftOut?: number[] };
        // The first line, also when it has nothing to tell.
        if (first) this.#parts.rules.watched(new Set(ids.filter((_, place) => !leftOut?.includes(place))));
        first = false;
        const known = crossed.flatMap((place) => ids[place] ?? []);
        if (known.length > 0) this.#parts.rules.evaluateSoon(known);
      } catch {
        // The end of a line that was cut off with the stream.
      }
    });
    stream.on('error', () => undefined); // told by its end
    stream.on('close', () => {
      clearTimeout(silence);
      lines.close();
      if (this.#stream !== stream) return; // another one has its place
      this.#stream = undefined;
      this.#parts.rules.watched(new Set());
      this.changed();
    });
  }
}
