// Secrets that the appliance has to read again – the seeds of authenticator apps – are sealed with one key of the appliance
// before they are stored, so that a copy of the database, or of a single row, is worth nothing. The key is a file of its own
// beside the database, which no bundle and no export holds. docs/FORMATS.md, "Sealed secrets"; supportd opens them too: its group is the folder's.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from '../base/log.ts';

export const KEY_FILE = 'secrets.key';
const KEY_BYTES = 32;
const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** What a secret belongs to; it opens for nothing else. */
export type Belongs = readonly [kind: string, ...names: string[]];

function bound(to: Belongs): Buffer {
  if (to.some((part) => part.includes('\0'))) throw new Error('what a secret belongs to holds a zero byte');
  return Buffer.from(to.join('\0'), 'utf8');
}

export class Seal {
  readonly #key: Buffer;

  constructor(key: Buffer) {
    if (key.length !== KEY_BYTES) throw new Error(`a key has ${KEY_BYTES} bytes, and not ${key.length}`);
    this.#key = key;
  }

  seal(to: Belongs, secret: Buffer): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce);
    cipher.setAAD(bound(to));
    const text = Buffer.concat([cipher.update(secret), cipher.final()]);
    return Buffer.concat([Buffer.of(VERSION), nonce, text, cipher.getAuthTag()]).toString('base64');
  }

  /** Null: it was sealed with another key, for something else, or is damaged. */
  open(to: Belongs, sealed: string): Buffer | null {
    const bytes = Buffer.from(sealed, 'base64');
    if (bytes.length < 1 + NONCE_BYTES + TAG_BYTES || bytes[0] !== VERSION) return null;
    const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(1, 1 + NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(bound(to));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    try {
      return Buffer.concat([decipher.update(bytes.subarray(1 + NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
    } catch {
      return null;
    }
  }
}

function sync(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** The key is on disk before anything is sealed with it. */
function makeKey(state: string): Buffer {
  const key = randomBytes(KEY_BYTES);
  const path = join(state, KEY_FILE);
  const file = openSync(`${path}.new`, 'w', 0o640);
  try {
    writeSync(file, key);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(`${path}.new`, path);
  sync(state);
  return key;
}

/** With the key in the state folder, which is made when there is none. */
export function openSeal(state: string, log: Log): Seal {
  const path = join(state, KEY_FILE);
  let key: Buffer;
  try {
    key = readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return new Seal(makeKey(state));
  }
  if (key.length === KEY_BYTES) return new Seal(key);
  // What was sealed with it cannot be opened any more by anybody: starting anew loses nothing, and keeping still would keep
  // everybody out.
  renameSync(path, `${path}.damaged`);
  log.error('the key of sealed secrets is damaged: what was sealed with it has to be entered again', {
    path: `${path}.damaged`,
    error: `it has ${key.length} bytes instead of ${KEY_BYTES}`,
  });
  return new Seal(makeKey(state));
}
