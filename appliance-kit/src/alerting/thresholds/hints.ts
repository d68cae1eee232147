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
  /** Those that are watched from now on; of the others nothing is reported. */
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
/** The store sends a line every 15 s; a stream without one is opened again. */
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
      const stream = limits.size === 0 ? undefined : await this.#parts.storaged.watch([...limits.values()]);
      // Only now, so that there is no moment without a watch.
      this.#stream?.destroy();
      this.#stream = this.#stopped ? undefined : stream;
      if (stream === undefined) this.#parts.rules.watched(new Set());
      if (this.#stopped) stream?.destroy();
      else if (stream !== undefined) this.#read(stream, [...limits.keys()]);
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
        // The first line, also when it reports nothing.
        if (first) this.#parts.rules.watched(new Set(ids.filter((_, place) => !leftOut?.includes(place))));
        first = false;
        const known = crossed.flatMap((place) => ids[place] ?? []);
        if (known.length > 0) this.#parts.rules.evaluateSoon(known);
      } catch {
        // The end of a line that was cut off with the stream.
      }
    });
    stream.on('error', () => undefined); // its end reports it
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
