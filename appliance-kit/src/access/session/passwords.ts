// Keeping passwords so that a copy of the state does not reveal them, and comparing them so that the time it takes
// reveals nothing either.
import { type BinaryLike, randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';

/**
 * OWASP's scrypt setting with the smallest memory (16 MiB a hash) of those it holds to be equal: the appliance is
 * to stay within 500 MB under a password-guessing attack.
 */
const COST = { N: 2 ** 14, r: 8, p: 5 } as const;
const KEY_BYTES = 32;

/** So many hashes at once; others wait their turn. Each holds 16 MiB and one of libuv's four threads. */
const AT_ONCE = 2;
/** More than this waiting is an attack; its requests are refused before they cost anything. */
const MAX_WAITING = 50;

let running = 0;
const waiting: (() => void)[] = [];

export class TooManyAtOnce extends Error {}

async function derive(password: string, salt: Buffer, cost: ScryptOptions): Promise<Buffer> {
  if (running >= AT_ONCE) {
    if (waiting.length >= MAX_WAITING) throw new TooManyAtOnce('too many sign-ins at once');
    await new Promise<void>((resolve) => waiting.push(resolve));
  } else {
    running++;
  }
  try {
    return await new Promise((resolve, reject) => {
      const text: BinaryLike = password.normalize('NFC');
      scrypt(text, salt, KEY_BYTES, { ...cost, maxmem: 64 * 1024 * 1024 }, (error, key) =>
        error ? reject(error) : resolve(key),
      );
    });
  } finally {
    // The place is handed on, not given up, when another request waits.
    const next = waiting.shift();
    if (next) next();
    else running--;
  }
}

/** As `scrypt$N$r$p$salt$key`, so that the cost can be raised later without locking anyone out. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const key = await derive(password, salt, COST);
  return ['scrypt', COST.N, COST.r, COST.p, salt.toString('base64'), key.toString('base64')].join('$');
}

/** What is compared with when there is no such user: no password has this key, and it takes just as long. */
const noUser = [
  'scrypt',
  COST.N,
  COST.r,
  COST.p,
  randomBytes(16).toString('base64'),
  randomBytes(32).toString('base64'),
];

export async function verifyPassword(password: string, stored: string | undefined): Promise<boolean> {
  const [, N, r, p, salt, key] = stored === undefined ? noUser : stored.split('$');
  const expected = Buffer.from(String(key), 'base64');
  const cost = { N: Number(N), r: Number(r), p: Number(p) };
  const actual = await derive(password, Buffer.from(String(salt), 'base64'), cost);
  return actual.length === expected.length && timingSafeEqual(actual, expected) && stored !== undefined;
}
