// What an authenticator signs. A challenge carries its end and a mark of this appliance, so that nothing has to be kept of those
// that are handed out: nobody can fill the memory by asking for them. What was taken is remembered until it ends.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';

/** How long somebody may take to find the key, and to touch it. */
export const GOOD_MS = 5 * 60 * 1000;
const NONCE_BYTES = 16;
const END_BYTES = 6;
const MARK_BYTES = 16;

export class Challenges {
  readonly #clock: Clock;
  /** Of this run alone: a restart ends what was handed out. */
  readonly #key = randomBytes(32);
  readonly #taken = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  #mark(purpose: string, head: Buffer): Buffer {
    return createHmac('sha256', this.#key).update(purpose).update('\0').update(head).digest().subarray(0, MARK_BYTES);
  }

  /** @param purpose what it is good for, and for whom */
  make(purpose: string): Buffer {
    const head = Buffer.alloc(NONCE_BYTES + END_BYTES);
    randomBytes(NONCE_BYTES).copy(head);
    head.writeUIntBE(Math.ceil(this.#clock.monotonic() + GOOD_MS), NONCE_BYTES, END_BYTES);
    return Buffer.concat([head, this.#mark(purpose, head)]);
  }

  /** @param challenge base64url, as the browser repeats it */
  isGood(purpose: string, challenge: string): boolean {
    const bytes = Buffer.from(challenge, 'base64url');
    if (bytes.length !== NONCE_BYTES + END_BYTES + MARK_BYTES) return false;
    const head = bytes.subarray(0, -MARK_BYTES);
    if (!timingSafeEqual(bytes.subarray(-MARK_BYTES), this.#mark(purpose, head))) return false;
    return head.readUIntBE(NONCE_BYTES, END_BYTES) > this.#clock.monotonic() && !this.#taken.has(head.toString('hex'));
  }

  /** After what signed it was found right: it is good for nothing any more. */
  take(challenge: string): void {
    for (const [one, until] of this.#taken) if (until <= this.#clock.monotonic()) this.#taken.delete(one);
    const head = Buffer.from(challenge, 'base64url').subarray(0, -MARK_BYTES);
    this.#taken.set(head.toString('hex'), this.#clock.monotonic() + GOOD_MS);
  }
}
