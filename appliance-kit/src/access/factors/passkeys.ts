// Passkeys (WebAuthn level 3): keys in a phone, a computer or a stick, which sign in without a password. Each belongs to the host
// name under which it was made, and works under no other; the authenticator has to check who uses it, by PIN, finger or face,
// so that it stands for password and second factor together.
import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import { type Clock, iso } from '../../base/clock.ts';
import { fail, ProblemError } from '../../base/problems/problem.ts';
import type { Database, Row } from '../../state/database.ts';
import { newId } from '../../state/id.ts';
import { Challenges, GOOD_MS } from './challenges.ts';
import type { Factor, MadePasskey, UsedPasskey } from './schema.ts';

/** Where the page is open. */
export interface Site {
  /** The host name: what a passkey belongs to. */
  readonly host: string;
  readonly origin: string;
}

/** Throws when no passkey works there. `header`: the Host of the request. */
export function siteOf(header: string | undefined, secure: boolean): Site {
  const origin = `${secure ? 'https' : 'http'}://${(header ?? '').toLowerCase()}`;
  const host = URL.parse(origin)?.hostname ?? '';
  if (host === '' || isIP(host.replace(/^\[|\]$/g, '')) !== 0) {
    throw fail(
      'conflict',
      `A passkey belongs to a host name, and this page is open under ${host === '' ? 'none' : `the address ${host}`}.`,
      'Open the page under the name of the appliance, with a certificate that the browser trusts.',
    );
  }
  return { host, origin };
}

/** For whom a passkey is, as the authenticator keeps it: the user's name is nobody else's business. */
const handleOf = (user: string) => createHash('sha256').update(`passkey\0${user}`).digest().subarray(0, 16);

const adding = (user: string) => `add ${user}`;
const using = (user: string | null) => (user === null ? 'sign in' : `use ${user}`);

/** The library says what it expected of a clientDataJSON; people are told what to do. */
function wrong(error: unknown): never {
  if (error instanceof ProblemError) throw error;
  const said = (error as Error).message;
  const [why, action] = /challenge/i.test(said)
    ? ['It took too long, or was given before.', 'Try again.']
    : /origin|RP ID/i.test(said)
      ? ['It was made for another address of this page.', 'Open the page under the name for which it was made.']
      : /user verification|could not be verified/i.test(said)
        ? ['The authenticator did not check who uses it.', 'Set up a PIN, a finger or a face for it.']
        : /counter/i.test(said)
          ? ['It was used less often than before: there may be a copy of it.', 'Remove it, and add it anew.']
          : ['What it signed is not right.', 'Try again, or use another way to sign in.'];
  throw fail('wrong_passkey', `The passkey was not accepted. ${why}`, action);
}

/** Under which names a browser opens the page of an appliance that is called so; without a domain, under that of its network as well. */
function isNameOf(host: string, hostName: string): boolean {
  const [first = ''] = hostName.split('.');
  return [hostName, first, `${first}.local`].includes(host) || (first === hostName && host.startsWith(`${first}.`));
}

// Only who uses passkeys needs it, and it is the largest library of all.
const library = () => import('@simplewebauthn/server');

export interface Used {
  readonly user: string;
  /** What the user calls it. */
  readonly name: string;
}

export class Passkeys {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #challenges: Challenges;

  constructor(db: Database, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
    this.#challenges = new Challenges(clock);
  }

  #rows(user: string): Row[] {
    return this.#db.all('SELECT * FROM passkeys WHERE user = ? ORDER BY created_at, id', user);
  }

  list(user: string): Factor[] {
    return this.#rows(user).map((row) => ({
      id: row.id as string,
      kind: 'passkey' as const,
      name: row.name as string,
      host: row.host as string,
      createdAt: iso(row.created_at as number),
      lastUsedAt: row.last_used_at === null ? null : iso(row.last_used_at as number),
    }));
  }

  /** Those of everybody that work under a name of the appliance which it will not have any more. */
  endingBy(before: string, after: string): { user: string; name: string; host: string }[] {
    const rows = this.#db.all('SELECT user, name, host FROM passkeys ORDER BY user, created_at, id');
    const all = rows.map((row) => ({ user: row.user as string, name: row.name as string, host: row.host as string }));
    return all.filter(({ host }) => isNameOf(host, before) && !isNameOf(host, after));
  }

  #known(user: string, { host }: Site) {
    const here = this.#rows(user).filter((row) => row.host === host);
    return here.map((row) => ({
      id: row.credential_id as string,
      transports: JSON.parse(row.transports_json as string) as string[],
    }));
  }

  /** What the browser needs to make one. */
  async startAdding(user: string, site: Site, hostName: string): Promise<object> {
    const { generateRegistrationOptions } = await library();
    return generateRegistrationOptions({
      ...{ rpName: `Cistern ${hostName}`, rpID: site.host, userName: user, userDisplayName: user },
      userID: new Uint8Array(handleOf(user)),
      challenge: new Uint8Array(this.#challenges.make(adding(user))),
      timeout: GOOD_MS,
      attestationType: 'none',
      excludeCredentials: this.#known(user, site),
      // It is found without a name being typed.
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    });
  }

  /** Stores it. Throws when it is not right, or somebody has it. */
  async finishAdding(user: string, made: MadePasskey, site: Site): Promise<string> {
    const { verifyRegistrationResponse } = await library();
    const { name, id, transports, ...response } = made;
    let challenge = '';
    const verified = await verifyRegistrationResponse({
      response: { id, rawId: id, type: 'public-key', clientExtensionResults: {}, response },
      expectedChallenge: (given) => {
        challenge = given;
        return this.#challenges.isGood(adding(user), given);
      },
      ...{ expectedOrigin: site.origin, expectedRPID: site.host, requireUserVerification: true },
    }).catch(wrong);
    if (!verified.verified) return wrong(new Error('not verified'));
    const { credential } = verified.registrationInfo;
    if (this.#db.get('SELECT 1 FROM passkeys WHERE credential_id = ?', credential.id) !== undefined)
      throw fail('conflict', 'This passkey was added before.', 'Take another device.');
    const now = this.#clock.now();
    const row = newId('pk', now);
    this.#db.run(
      `INSERT INTO passkeys (id, user, name, host, credential_id, public_key, counter, transports_json, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[row, user, name, site.host, credential.id, Buffer.from(credential.publicKey).toString('base64')],
      ...[credential.counter, JSON.stringify(transports), now],
    );
    this.#challenges.take(challenge);
    return row;
  }

  /** What the browser needs to use one. `user` null: whoever it is for, to sign in. */
  async startUsing(user: string | null, site: Site): Promise<object> {
    const { generateAuthenticationOptions } = await library();
    return generateAuthenticationOptions({
      rpID: site.host,
      challenge: new Uint8Array(this.#challenges.make(using(user))),
      timeout: GOOD_MS,
      userVerification: 'required',
      ...(user !== null && { allowCredentials: this.#known(user, site) }),
    });
  }

  /** Whose it is, when it is right. `user`: whose it has to be; null: anybody's, to sign in. Throws otherwise. */
  async check(user: string | null, given: UsedPasskey, site: Site): Promise<Used> {
    const { verifyAuthenticationResponse } = await library();
    const row = this.#db.get('SELECT * FROM passkeys WHERE credential_id = ?', given.id);
    const owner = row?.user as string | undefined;
    if (row === undefined || owner === undefined || (user !== null && owner !== user)) {
      throw fail(
        'wrong_passkey',
        `This appliance does not know the passkey${user === null ? '' : ' as yours'}.`,
        'It may have been removed here: remove it from your device as well.',
      );
    }
    const { id, userHandle, ...response } = given;
    if (userHandle !== undefined && !Buffer.from(userHandle, 'base64url').equals(handleOf(owner)))
      return wrong(new Error('it is for another user'));
    let challenge = '';
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: { id, rawId: id, type: 'public-key', clientExtensionResults: {}, response },
      expectedChallenge: (one) => {
        challenge = one;
        return this.#challenges.isGood(using(user), one);
      },
      ...{ expectedOrigin: site.origin, expectedRPID: row.host as string, requireUserVerification: true },
      credential: {
        id,
        publicKey: new Uint8Array(Buffer.from(row.public_key as string, 'base64')),
        counter: row.counter as number,
      },
    }).catch(wrong);
    // The same one may have been given twice at a time.
    if (!verified || !this.#challenges.isGood(using(user), challenge)) return wrong(new Error('not verified'));
    this.#challenges.take(challenge);
    this.#db.run(
      'UPDATE passkeys SET counter = ?, last_used_at = ? WHERE id = ?',
      ...[authenticationInfo.newCounter, this.#clock.now(), row.id as string],
    );
    return { user: owner, name: row.name as string };
  }

  remove(id: string): void {
    this.#db.run('DELETE FROM passkeys WHERE id = ?', id);
  }

  /** Returns how many there were. */
  clear(user: string): number {
    return this.#db.run('DELETE FROM passkeys WHERE user = ?', user);
  }
}
