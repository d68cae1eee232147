// What is asked of storaged about its inputs: it runs them, also while akd is down, and keeps what it was given.
import { createHash } from 'node:crypto';
import type { Peer } from '../../peers/peer.ts';
import type { InputSettings } from './schema.ts';

type Single = 'senderIsHost' | 'hostNames' | 'refusedSenders';
type Later = 'senderSamplesPerSecond' | 'port' | 'picklePort' | 'tlsPort' | 'tlsClientCa' | Single;
/** One that was kept by an older version has no limit of samples, no ports, nothing of TLS, or nothing of single senders. */
export type KeptSettings = Omit<InputSettings, Later> & Partial<Pick<InputSettings, Later>>;

export interface InputState extends KeptSettings {
  readonly listens: readonly string[];
  /** The one for TLS; empty for none. */
  readonly tlsListens?: string;
  readonly newSeries: number;
  readonly refused: Readonly<Record<string, number>>;
  readonly senders: readonly {
    readonly address: string;
    readonly samples: number;
    readonly newSeries: number;
    readonly refused: Readonly<Record<string, number>>;
    /** RFC 3339: since the store started, or forgot it. */
    readonly first?: string;
    /** RFC 3339. */
    readonly last: string;
  }[];
}

export interface Wanted {
  readonly ownByDefault: boolean;
  readonly inputs: Readonly<Record<string, KeptSettings>>;
}

export interface Answer {
  readonly revision: string;
  /** The networks that the machine has an address in. */
  readonly own?: readonly string[];
  readonly inputs: Readonly<Record<string, InputState>>;
  /** Of those who send by TLS; null: nobody wanted one yet. */
  readonly tls?: {
    readonly pem: string;
    /** Empty: there is none that could be read. */
    readonly sha256: string;
    readonly names: readonly string[];
    /** RFC 3339. */
    readonly notBefore: string;
    readonly notAfter: string;
    readonly own: boolean;
    readonly because: string;
    readonly problem: string;
  } | null;
}

const LOOK_MS = 5_000;
/** One that is closed hands on what it has. */
const SET_MS = 30_000;

/** storaged's before anything was set is empty as well. */
export function revisionOf(wanted: Wanted): string {
  const { ownByDefault, inputs } = wanted;
  if (Object.keys(inputs).length === 0 && !ownByDefault) return '';
  return createHash('sha256')
    .update(JSON.stringify(ownByDefault ? wanted : inputs))
    .digest('hex')
    .slice(0, 32);
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
    const json = { revision: revisionOf(wanted), ...wanted };
    const path = '/admin/inputs';
    return (await this.#storaged.call({ method: 'PUT', path, json, deadlineMs: SET_MS })) as Answer;
  }

  /** Another one as soon as there is a sample of a name that nobody had sent before. */
  async names(): Promise<string> {
    const path = '/admin/names';
    const request = { method: 'GET', path, deadlineMs: LOOK_MS, kept: true } as const;
    return ((await this.#storaged.call(request)) as { version: string }).version;
  }

  async renewCertificate(): Promise<Answer> {
    const path = '/admin/inputs/certificate';
    return (await this.#storaged.call({ method: 'POST', path, deadlineMs: LOOK_MS })) as Answer;
  }

  /** One change after the other. */
  inTurn<T>(change: () => Promise<T>): Promise<T> {
    const turn = this.#changing.then(change);
    this.#changing = turn.catch(() => {});
    return turn;
  }
}
