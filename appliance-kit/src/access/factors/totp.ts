// The six digits that an authenticator app shows: RFC 6238 with SHA-1 and 30 seconds, which is what every app takes.
import { createHmac, timingSafeEqual } from 'node:crypto';

export const STEP_SECONDS = 30;
export const DIGITS = 6;
/** RFC 4226, 4: at least 128 bits, 160 recommended. */
export const SEED_BYTES = 20;
/** A code is good for its own step and for one on either side: clocks differ, and people type. */
const NEIGHBOURS = [0, -1, 1] as const;

export const stepAt = (now: number) => Math.floor(now / 1000 / STEP_SECONDS);

/** RFC 4226, 5.3. */
export function codeOfStep(seed: Buffer, step: number, digits = DIGITS): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac('sha1', seed).update(counter).digest();
  const offset = (mac.at(-1) as number) & 0x0f;
  const number = mac.readUInt32BE(offset) & 0x7fff_ffff;
  return String(number % 10 ** digits).padStart(digits, '0');
}

/** The step whose code it is, of those that count now; null: of none. */
export function stepOfCode(seed: Buffer, code: string, now: number): number | null {
  const given = Buffer.from(code.padEnd(DIGITS).slice(0, DIGITS));
  let found: number | null = null;
  for (const neighbour of NEIGHBOURS) {
    const step = stepAt(now) + neighbour;
    if (step >= 0 && timingSafeEqual(Buffer.from(codeOfStep(seed, step)), given)) found ??= step;
  }
  return code.length === DIGITS ? found : null;
}

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** RFC 4648, 6, without padding: as it is typed into an app that cannot scan. */
export function base32(bytes: Buffer): string {
  let bits = '';
  for (const byte of bytes) bits += byte.toString(2).padStart(8, '0');
  return (bits.match(/.{1,5}/g) ?? []).map((five) => BASE32[Number.parseInt(five.padEnd(5, '0'), 2)]).join('');
}

/** What the QR code says. Colons part the issuer from the account, so neither has one. */
export function otpauth(seed: Buffer, issuer: string, account: string): string {
  const name = (text: string) => encodeURIComponent(text.replaceAll(':', ' '));
  const query = `secret=${base32(seed)}&issuer=${name(issuer)}&algorithm=SHA1&digits=${DIGITS}&period=${STEP_SECONDS}`;
  return `otpauth://totp/${name(issuer)}:${name(account)}?${query}`;
}
