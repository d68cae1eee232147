// ssh of the machine that is not there: keys are looked at as execd does, and nobody comes in.
import { createHash, generateKeyPairSync } from 'node:crypto';
import { fail } from '../../base/problems/problem.ts';
import type { SshAccess, SshKey, SshPlatform } from '../ssh.ts';

const KINDS = ['ssh-ed25519', 'ecdsa-sha2-nistp256', 'ecdsa-sha2-nistp384', 'ecdsa-sha2-nistp521', 'ssh-rsa'];
const MINIMUM_RSA_BITS = 3072;

export interface SimSshState {
  access: SshAccess;
  hostKey: string | null;
}
export const noSsh = (): SimSshState => ({ access: { enabled: false }, hostKey: null });

function refuse(message: string): never {
  throw fail('invalid_request', message, undefined, [{ path: '/key', message }]);
}

/** RFC 4251: parts, each after its length. Null: it is cut off. */
function partsOf(content: Buffer): Buffer[] | null {
  const parts: Buffer[] = [];
  for (let at = 0; at < content.length; ) {
    const length = at + 4 <= content.length ? content.readUInt32BE(at) : Number.POSITIVE_INFINITY;
    if (at + 4 + length > content.length) return null;
    parts.push(content.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return parts;
}
const part = (content: Buffer | string) => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(Buffer.byteLength(content));
  return Buffer.concat([length, Buffer.from(content)]);
};

export function readKey(text: string): SshKey {
  const line = text.trim();
  if (line.includes('PRIVATE KEY')) {
    refuse(
      'This is a private key, which must not leave its machine: paste the .pub file beside it, and make a new pair if this one was shown to anybody.',
    );
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\x00-\x1f\x7f]/.test(line)) {
    refuse('The key has more than one line, or control characters: add keys one by one.');
  }
  const [algorithm = '', encoded, ...comment] = line.split(' ');
  if (algorithm === 'ssh-dss') refuse('DSA keys are too weak; make one with “ssh-keygen -t ed25519”.');
  if (!KINDS.includes(algorithm)) {
    refuse(`A key begins with its kind (${KINDS.join(', ')}), with no options before it.`);
  }
  if (encoded === undefined) refuse('The key itself is missing after its kind.');
  const content = Buffer.from(encoded, 'base64');
  if (content.toString('base64') !== encoded) {
    refuse('The key is not whole: what follows its kind is no base64.');
  }
  const parts = partsOf(content);
  if (parts === null || parts.length < 2) refuse('The key is damaged.');
  const kind = parts[0]?.toString() ?? '';
  if (kind !== algorithm) refuse(`It says ${algorithm}, and is ${kind}.`);
  if (algorithm === 'ssh-rsa') {
    const bits = BigInt(`0x0${parts[2]?.toString('hex') ?? ''}`).toString(2).length;
    if (bits < MINIMUM_RSA_BITS) {
      refuse(`The RSA key has ${bits} bits; it must have ${MINIMUM_RSA_BITS} to 16384, or be ed25519.`);
    }
  }
  const fingerprint = `SHA256:${createHash('sha256').update(content).digest('base64').replace(/=+$/, '')}`;
  return { algorithm, encoded, fingerprint, comment: comment.join(' ').trim() };
}

/** A new ed25519 key, as a .pub file has it. */
export function newPublicKey(): string {
  const { publicKey } = generateKeyPairSync('ed25519');
  const raw = Buffer.from(publicKey.export({ format: 'jwk' }).x as string, 'base64url');
  return `ssh-ed25519 ${Buffer.concat([part('ssh-ed25519'), part(raw)]).toString('base64')}`;
}

export class SimSsh implements SshPlatform {
  readonly #state: () => SimSshState;
  readonly #save: () => void;

  constructor(parts: { state: () => SimSshState; save: () => void }) {
    this.#state = parts.state;
    this.#save = parts.save;
  }

  /** What it was given last. */
  access(): SshAccess {
    return this.#state().access;
  }

  async configure(access: SshAccess): Promise<SshKey | null> {
    const state = this.#state();
    if (access.enabled) {
      if (access.networks.length === 0) refuse('networks: nobody could come in; name a network');
      for (const { key } of access.keys) readKey(key);
      state.hostKey ??= newPublicKey();
    }
    state.access = structuredClone(access);
    this.#save();
    return state.hostKey === null ? null : readKey(state.hostKey);
  }

  async checkKey(line: string): Promise<SshKey> {
    return readKey(line);
  }
}
