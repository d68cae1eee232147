// What is asked of storaged about its inputs: it runs them, also while akd is down, and keeps what it was given.
import { createHash } from 'node:crypto';
import type { Peer } from '../../peers/peer.ts';
import type { InputSettings } from './schema.ts';

export interface InputState extends InputSettings {
  readonly listens: readonly string[];
  readonly newSeries: number;
  readonly refused: Readonly<Record<string, number>>;
  readonly senders: readonly {
    readonly address: string;
    readonly newSeries: number;
    readonly refused: Readonly<Record<string, number>>;
    /** RFC 3339. */
    readonly last: string;
  }[];
}

export type Wanted = Readonly<Record<string, InputSettings>>;

interface Answer {
  readonly revision: string;
  readonly inputs: Readonly<Record<string, InputState>>;
}

const LOOK_MS = 5_000;
/** One that is closed hands on what it has. */
const SET_MS = 30_000;

/** storaged's before anything was set is empty as well. */
export function revisionOf(wanted: Wanted): string {
  if (Object.keys(wanted).length === 0) return '';
  return createHash('sha256').update(JSON.stringify(wanted)).digest('hex').slice(0, 32);
}

export class InputRunner {
  readonly #storaged: Peer;
  #changing: Promise<unknown> = Promise.resolve();

  constructor(storaged: Peer) {
    this.#storaged = storaged;
  }

  async look(): Promise<Answer> {
    return (await this.#storaged.call({ method: 'GET', path: '/admin/inputs', deadlineMs: LOOK_MS })) as Answer;
  }

  /** Throws the problem that says what cannot be; then all is as it was. */
  async set(wanted: Wanted): Promise<Answer> {
    const json = { revision: revisionOf(wanted), inputs: wanted };
    const path = '/admin/inputs';
    return (await this.#storaged.call({ method: 'PUT', path, json, deadlineMs: SET_MS })) as Answer;
  }

  /** One change after the other. */
  inTurn<T>(change: () => Promise<T>): Promise<T> {
    const turn = this.#changing.then(change);
    this.#changing = turn.catch(() => {});
    return turn;
  }
}
