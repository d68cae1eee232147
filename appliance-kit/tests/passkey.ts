// An authenticator in software, as a phone or a stick has it in hardware: ES256, attestation "none" (WebAuthn level 3, 6.1 and 6.5;
// CBOR of RFC 8949; COSE keys of RFC 9052).
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest();

type Cbor = number | string | Buffer | Map<number | string, Cbor>;

function head(major: number, value: number): Buffer {
  if (value < 24) return Buffer.of((major << 5) | value);
  if (value < 256) return Buffer.of((major << 5) | 24, value);
  return Buffer.of((major << 5) | 25, value >> 8, value & 255);
}

function cbor(value: Cbor): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value]);
  return Buffer.concat([head(5, value.size), ...[...value].flatMap(([name, one]) => [cbor(name), cbor(one)])]);
}

// Flags: user present, user verified, attested credential data.
const PRESENT = 0x01;
const VERIFIED = 0x04;
const ATTESTED = 0x40;

export interface Options {
  readonly challenge: string;
  readonly rp?: { id: string };
  readonly rpId?: string;
  readonly user?: { id: string };
}

export interface Twist {
  readonly origin?: string;
  /** Nobody gave a PIN. */
  readonly unverified?: boolean;
  readonly counter?: number;
  readonly host?: string;
}

export class Authenticator {
  readonly id = randomBytes(32);
  readonly #key: KeyObject;
  readonly #public: { x: string; y: string };
  readonly #origin: string;
  #userHandle = '';
  #host = '';
  counter = 0;

  constructor(origin = 'https://cistern.test') {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.#key = privateKey;
    this.#public = publicKey.export({ format: 'jwk' }) as { x: string; y: string };
    this.#origin = origin;
  }

  #data(flags: number, twist: Twist): Buffer {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(twist.counter ?? this.counter);
    const seen = PRESENT | (twist.unverified ? 0 : VERIFIED) | flags;
    return Buffer.concat([sha256(twist.host ?? this.#host), Buffer.of(seen), counter]);
  }

  #client(type: string, challenge: string, twist: Twist): Buffer {
    return Buffer.from(JSON.stringify({ type, challenge, origin: twist.origin ?? this.#origin, crossOrigin: false }));
  }

  /** As MadePasskey, without its name. */
  make(options: Options, twist: Twist = {}) {
    this.#host = options.rp?.id as string;
    this.#userHandle = options.user?.id as string;
    const { x, y } = this.#public;
    const key = new Map<number, Cbor>([
      ...([
        [1, 2],
        [3, -7],
        [-1, 1],
      ] as const),
      [-2, Buffer.from(x, 'base64url')],
      [-3, Buffer.from(y, 'base64url')],
    ]);
    const length = Buffer.of(0, this.id.length);
    const authData = Buffer.concat([this.#data(ATTESTED, twist), Buffer.alloc(16), length, this.id, cbor(key)]);
    const attestation = new Map<string, Cbor>([
      ['fmt', 'none'],
      ['attStmt', new Map()],
      ['authData', authData],
    ]);
    return {
      id: this.id.toString('base64url'),
      clientDataJSON: this.#client('webauthn.create', options.challenge, twist).toString('base64url'),
      attestationObject: cbor(attestation).toString('base64url'),
      transports: ['internal'],
    };
  }

  /** As UsedPasskey. */
  use(options: Options, twist: Twist = {}) {
    this.counter++;
    const client = this.#client('webauthn.get', options.challenge, twist);
    const data = this.#data(0, twist);
    return {
      id: this.id.toString('base64url'),
      clientDataJSON: client.toString('base64url'),
      authenticatorData: data.toString('base64url'),
      signature: sign('sha256', Buffer.concat([data, sha256(client)]), this.#key).toString('base64url'),
      userHandle: this.#userHandle,
    };
  }
}
