// Values of parts as they are stored here: with their secrets, and so sealed with the appliance's key as a whole.
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Seal } from '../../state/sealed.ts';

export class Box {
  readonly #seal: Seal;

  constructor(seal: Seal) {
    this.#seal = seal;
  }

  seal(what: string, value: unknown): string {
    return this.#seal.seal(['settings', what], deflateRawSync(Buffer.from(JSON.stringify(value), 'utf8')));
  }

  /** Undefined: the key that it was sealed with is gone. */
  open(what: string, sealed: string): unknown {
    const opened = this.#seal.open(['settings', what], sealed);
    return opened === null ? undefined : JSON.parse(inflateRawSync(opened).toString('utf8'));
  }
}
