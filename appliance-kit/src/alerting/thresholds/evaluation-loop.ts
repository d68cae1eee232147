// When the rules are evaluated: once a second while that takes a fifth of the time at most, else more rarely, down to as
// rarely as the configuration allows.

import type { Log } from '../../base/log.ts';
import { logFailure } from '../../base/problems/log-failure.ts';

export class EvaluationLoop {
  readonly #evaluate: () => Promise<void>;
  readonly #intervalMs: number;
  readonly #log: Log;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(evaluate: () => Promise<void>, intervalMs: number, log: Log) {
    this.#evaluate = evaluate;
    this.#intervalMs = intervalMs;
    this.#log = log;
  }

  start(): void {
    void this.#round();
  }

  async #round(): Promise<void> {
    const began = performance.now();
    await this.#evaluate().catch((error: unknown) => logFailure(this.#log, 'rules could not be evaluated', error));
    if (this.#stopped) return;
    const took = performance.now() - began;
    const rest = Math.max(this.#intervalMs / 5, Math.min(this.#intervalMs - took, 4 * took));
    this.#timer = setTimeout(() => void this.#round(), rest);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }
}
