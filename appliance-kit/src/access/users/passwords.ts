// Keeping passwords so that a copy of the state does not reveal them, and comparing them so that the time it takes
// reveals nothing either.
import { type Argon2Parameters, argon2, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';

/**
 * argon2id with OWASP's setting of 19 MiB and two passes
 * (https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html): the appliance is to stay within
 * 500 MB while passwords are guessed at.
 */
const COST = { memory: 19_456, passes: 2, parallelism: 1 } as const;
const KEY_BYTES = 32;

/** So many hashes at once; others wait. Each has 19 MiB and one of libuv's four threads. */
const AT_ONCE = 2;
/** More than this waiting is an attack; its requests are refused before they cost anything. */
const MAX_WAITING = 400;

let running = 0;
/** Who is known from before goes first: a flood of guesses keeps nobody waiting who has signed in here before. */
const waiting: { readonly known: (() => void)[]; readonly others: (() => void)[] } = { known: [], others: [] };

export class TooManyAtOnce extends Error {}

async function inTurn<T>(known: boolean, work: () => Promise<T>): Promise<T> {
  if (running >= AT_ONCE) {
    const line = known ? waiting.known : waiting.others;
    if (line.length >= MAX_WAITING) throw new TooManyAtOnce('too many sign-ins at once');
    await new Promise<void>((resolve) => line.push(resolve));
  } else {
    running++;
  }
  try {
    return await work();
  } finally {
    // The place is handed on, not given up, when another request waits.
    const next = waiting.known.shift() ?? waiting.others.shift();
    if (next) next();
    else running--;
  }
}

const derived = (message: string, parameters: Omit<Argon2Parameters, 'message'>) =>
  new Promise<Buffer>((resolve, reject) => {
    argon2('argon2id', { ...parameters, message }, (error, key) => (error ? reject(error) : resolve(key)));
  });

const unpadded = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');

/** In the form that other programs read (PHC), so that the cost can be raised later without locking anyone out. */
function phc(cost: { memory: number; passes: number; parallelism: number }, salt: Buffer, key: Buffer): string {
  const { memory, passes, parallelism } = cost;
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(salt)}$${unpadded(key)}`;
}

/** `known` is whether whoever waits for it is known from before. */
export async function hashPassword(password: string, known = true): Promise<string> {
  const nonce = randomBytes(16);
  const key = await inTurn(known, () => derived(password.normalize('NFC'), { ...COST, nonce, tagLength: KEY_BYTES }));
  return phc(COST, nonce, key);
}

/** What is compared with when there is no such user, or one without a password: no password has this key, and it takes as long. */
const nobody = phc(COST, randomBytes(16), randomBytes(KEY_BYTES));

/** Whether it is a hash as it is stored, which costs no more to compare with than one of ours could. */
export function isPasswordHash(text: string): boolean {
  const [, memory, passes, parallelism] =
    /^\$argon2id\$v=19\$m=(\d{1,6}),t=(\d{1,2}),p=(\d)\$[A-Za-z0-9+/]{11,86}\$[A-Za-z0-9+/]{43,86}$/.exec(text) ?? [];
  return (
    Number(memory) <= 262_144 &&
    Number(memory) >= 8 &&
    Number(passes) >= 1 &&
    Number(passes) <= 16 &&
    Number(parallelism) >= 1
  );
}

/** Whether a stored hash should be replaced when its password is given next. */
export const isOutdated = (stored: string) =>
  !stored.startsWith(phc(COST, Buffer.alloc(0), Buffer.alloc(0)).slice(0, -2));

export async function verifyPassword(password: string, stored: string | undefined, known = false): Promise<boolean> {
  const has = stored !== undefined && stored !== '';
  const text = password.normalize('NFC');
  const [actual, expected] = await inTurn(known, async () =>
    (has ? stored : nobody).startsWith('scrypt$')
      ? ofScrypt(text, stored as string)
      : ofArgon2(text, has ? stored : nobody),
  );
  return actual.length === expected.length && timingSafeEqual(actual, expected) && has;
}

async function ofArgon2(text: string, stored: string): Promise<[Buffer, Buffer]> {
  const [, , , cost = '', salt = '', key = ''] = stored.split('$');
  const numbers = Object.fromEntries(cost.split(',').map((pair) => pair.split('=')));
  const expected = Buffer.from(key, 'base64');
  const actual = await derived(text, {
    memory: Number(numbers.m),
    passes: Number(numbers.t),
    parallelism: Number(numbers.p),
    nonce: Buffer.from(salt, 'base64'),
    tagLength: expected.length,
  });
  return [actual, expected];
}

/** What the first versions wrote: scrypt$N$r$p$SALT$KEY. Such a hash is replaced when its user signs in. */
async function ofScrypt(text: string, stored: string): Promise<[Buffer, Buffer]> {
  const [, N, r, p, salt = '', key = ''] = stored.split('$');
  const expected = Buffer.from(key, 'base64');
  const cost = { N: Number(N), r: Number(r), p: Number(p), maxmem: 64 * 1024 * 1024 };
  const actual = await new Promise<Buffer>((resolve, reject) => {
    scrypt(text, Buffer.from(salt, 'base64'), expected.length, cost, (error, found) =>
      error ? reject(error) : resolve(found),
    );
  });
  return [actual, expected];
}
