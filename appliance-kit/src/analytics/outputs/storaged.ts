// What is asked of storaged about outputs: it runs them, also while akd is down, and keeps the list that it was given.
import { createHash } from 'node:crypto';
import type { Log } from '../../base/log.ts';
import type { Peer } from '../../peers/peer.ts';
import type { StoredOutput } from './schema.ts';

export interface StreamStatus {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly state: 'off' | 'delivering' | 'catching-up' | 'failing' | 'invalid';
  readonly error?: string;
  /** Times are seconds since the epoch. */
  readonly since?: number;
  readonly lagBytes: number;
  readonly lagSeconds: number;
  readonly sent: number;
  readonly refused: number;
  readonly refusedWords?: string;
  readonly refusedAt?: number;
  readonly leftOut: number;
  readonly skipped: number;
  readonly skippedFrom?: number;
  readonly skippedTo?: number;
  readonly skippedAt?: number;
  readonly retries: number;
  readonly lastDelivered?: number;
}

export interface StoredList {
  readonly outputs: readonly StoredOutput[];
}

interface Answer {
  readonly revision: string;
  readonly status: readonly StreamStatus[];
}

/** A page waits no longer. */
const LOOK_MS = 1_000;
/** A list that is changed waits for the outputs that are to stop. */
const SET_MS = 30_000;
/** A receiver may take twenty seconds. */
const TEST_MS = 25_000;

export class OutputRunner {
  readonly #storaged: Peer;
  readonly #list: () => StoredList;
  readonly #log: Log;
  /** What storaged answered with last. */
  #revision: string | null = null;
  #setting: Promise<void> = Promise.resolve();

  constructor(storaged: Peer, list: () => StoredList, log: Log) {
    this.#storaged = storaged;
    this.#list = list;
    this.#log = log;
  }

  #wanted(): { revision: string; outputs: readonly StoredOutput[] } {
    const { outputs } = this.#list();
    return { revision: createHash('sha256').update(JSON.stringify(outputs)).digest('hex').slice(0, 32), outputs };
  }

  /** Whether storaged may run something else than it should: until it has answered, and where there is something to run. */
  get matters(): boolean {
    const { revision, outputs } = this.#wanted();
    return outputs.length > 0 || this.#revision !== revision;
  }

  /** Nothing is known of them while storaged does not answer. */
  async statuses(): Promise<readonly StreamStatus[]> {
    try {
      return await this.look();
    } catch {
      return [];
    }
  }

  async look(): Promise<readonly StreamStatus[]> {
    const answer = (await this.#storaged.call({
      ...{ method: 'GET', path: '/admin/outputs', deadlineMs: LOOK_MS },
    })) as Answer;
    this.#revision = answer.revision;
    return answer.status;
  }

  /** Makes storaged run what it should, one change after the other. Does not throw: the watch tries again. */
  async push(): Promise<void> {
    const turn = this.#setting.then(async () => {
      const { revision, outputs } = this.#wanted();
      if (this.#revision === revision) return;
      try {
        const json = { version: 1, revision, outputs };
        const answer = (await this.#storaged.call({
          ...{ method: 'PUT', path: '/admin/outputs', json, deadlineMs: SET_MS },
        })) as Answer;
        this.#revision = answer.revision;
      } catch (error) {
        this.#log.warn('the outputs could not be sent to storaged; it is tried again', {
          error: (error as Error).message,
        });
      }
    });
    this.#setting = turn;
    await turn;
  }

  /** Throws the ProblemError that says what of it cannot be. */
  async check(output: StoredOutput): Promise<void> {
    const request = { method: 'POST', path: '/admin/outputs/check', json: output, deadlineMs: LOOK_MS * 5 } as const;
    await this.#storaged.call(request);
  }

  async test(output: StoredOutput): Promise<{ ok: boolean; text: string }> {
    const request = { method: 'POST', path: '/admin/outputs/test', json: output, deadlineMs: TEST_MS } as const;
    return (await this.#storaged.call(request)) as { ok: boolean; text: string };
  }
}
