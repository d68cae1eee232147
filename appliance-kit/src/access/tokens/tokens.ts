// API tokens: random, shown once, of which the state knows only the hash.

import { randomBytes, X509Certificate } from 'node:crypto';
import { type Clock, iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import { atLeast } from '../../http/gate/caller.ts';
import type { KnownToken } from '../../http/gate/gate.ts';
import type { Role, TokenRole } from '../../http/gate/roles.ts';
import type { Database, Row } from '../../state/database.ts';
import { newId } from '../../state/id.ts';
import { secretHash } from '../session/index.ts';
import { fingerprintOf, holdsAt, isIssued, keyOf, named, type SetCertificate, shownBy } from './certificates.ts';
import { isInside } from './networks.ts';
import type { ForcedLabels } from './restrictions.ts';
import type { KeptToken, Token } from './schema.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
export const DEFAULT_DAYS = 365;
/** The last use is noted at most this often: a sender of metrics must not cost a write to disk with each request. */
const NOTE_USE_MS = 60 * 1000;

const SELECT = `SELECT t.*, u.role AS owner_role, u.disabled_at AS owner_disabled_at
  FROM tokens t LEFT JOIN users u ON u.name = t.owner`;

/** What a token may do: never more than its owner. A viewer may not send metrics. */
export function withinRole(role: TokenRole, owner: Role): TokenRole | null {
  if (role === 'writer') return atLeast(owner, 'operator') ? 'writer' : null;
  return atLeast(owner, role) ? role : owner;
}

/** What is said of a token when it is made. */
export interface Wanted {
  readonly name: string;
  readonly role: TokenRole;
  readonly owner: string | null;
  /** Until it expires; null: never. */
  readonly days: number | null;
  readonly networks: readonly string[];
  readonly labels: ForcedLabels;
  readonly selector: string | null;
  /** In place of a secret. */
  readonly certificate: SetCertificate | null;
}

/** How a certificate is shown. Its text never changes once it is stored. */
function described(row: Row): Token['certificate'] {
  if (row.certificate === null) return null;
  const certificate = new X509Certificate(row.certificate as string);
  return {
    sha256: fingerprintOf(certificate),
    subject: named(certificate.subject),
    validTo: iso(Date.parse(certificate.validTo)),
    commonName: row.common_name as string | null,
  };
}

/** What of it can be changed. */
export type Changed = Pick<Wanted, 'name' | 'owner' | 'networks' | 'labels' | 'selector'> & {
  readonly expiresAt: number | null;
};

export class Tokens {
  readonly #db: Database;
  readonly #clock: Clock;

  constructor(db: Database, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  #fromRow = (row: Row): Token => {
    const expiresAt = row.expires_at as number | null;
    const expired = expiresAt !== null && expiresAt <= this.#clock.now();
    return {
      id: row.id as string,
      name: row.name as string,
      role: row.role as TokenRole,
      owner: row.owner as string | null,
      networks: JSON.parse(row.networks_json as string),
      labels: JSON.parse(row.labels_json as string),
      selector: row.selector as string | null,
      certificate: described(row),
      createdAt: iso(row.created_at as number),
      expiresAt: expiresAt === null ? null : iso(expiresAt),
      lastUsedAt: row.last_used_at === null ? null : iso(row.last_used_at as number),
      lastUsedFrom: row.last_used_from as string | null,
      state: expired ? 'expired' : row.owner_disabled_at !== null ? 'owner-disabled' : 'valid',
    };
  };

  /** `owner` null: of all. */
  list(owner: string | null): Token[] {
    return this.#db.all(`${SELECT} WHERE ?1 IS NULL OR t.owner = ?1 ORDER BY t.rowid`, owner).map(this.#fromRow);
  }

  get(id: string): Token | undefined {
    const row = this.#db.get(`${SELECT} WHERE t.id = ?`, id);
    return row && this.#fromRow(row);
  }

  create({ name, role, owner, days, networks, labels, selector, certificate }: Wanted): Token {
    const now = this.#clock.now();
    const id = newId('tk', now);
    // The prefix lets a person, and a scanner for leaked secrets, see what this is.
    const token = certificate === null ? `cistern_${randomBytes(32).toString('base64url')}` : null;
    // With the client's own certificate it ends at the latest when that does.
    const own = certificate?.commonName === null ? Date.parse(new X509Certificate(certificate.pem).validTo) : null;
    const ends = [days === null ? null : now + days * DAY_MS, own].filter((time) => time !== null);
    this.#db.run(
      `INSERT INTO tokens (id, name, role, hash, created_at, owner, expires_at, networks_json, labels_json, selector,
         certificate, common_name)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[id, name, role, token === null ? keyOf(certificate as SetCertificate) : secretHash(token), now, owner],
      ...[ends.length === 0 ? null : Math.min(...ends), JSON.stringify(networks)],
      ...[JSON.stringify(labels), selector, certificate?.pem ?? null, certificate?.commonName ?? null],
    );
    return { ...(this.get(id) as Token), ...(token !== null && { token }) };
  }

  change(id: string, { name, owner, networks, labels, selector, expiresAt }: Changed): void {
    this.#db.run(
      `UPDATE tokens SET name = ?, owner = ?, networks_json = ?, labels_json = ?, selector = ?, expires_at = ?
       WHERE id = ?`,
      ...[name, owner, JSON.stringify(networks), JSON.stringify(labels), selector, expiresAt, id],
    );
  }

  /** As they are in a settings document. */
  kept(): (KeptToken & { readonly id: string })[] {
    return this.#db.all('SELECT * FROM tokens ORDER BY rowid').map((row) => ({
      ...{ id: row.id as string, name: row.name as string, role: row.role as TokenRole },
      ...{ owner: row.owner as string | null, networks: JSON.parse(row.networks_json as string) },
      ...{ labels: JSON.parse(row.labels_json as string), selector: row.selector as string | null },
      expiresAt: row.expires_at === null ? null : iso(row.expires_at as number),
      ...{ certificate: row.certificate as string | null, commonName: row.common_name as string | null },
      // That of a certificate follows from it.
      ...(row.certificate === null && { hash: row.hash as string }),
    }));
  }

  /** Makes or changes one as a settings document has it. */
  keep(id: string, { name, role, owner, networks, labels, selector, expiresAt, ...by }: KeptToken): void {
    const { certificate, commonName, hash } = by;
    const found = certificate === null ? hash : keyOf({ pem: certificate, commonName });
    const before = this.#db.get('SELECT hash FROM tokens WHERE id = ?', id)?.hash;
    const values = [name, role, (found ?? before) as string, owner];
    const rest = [expiresAt === null ? null : Date.parse(expiresAt), JSON.stringify(networks), JSON.stringify(labels)];
    this.#db.run(
      `INSERT INTO tokens (id, name, role, hash, owner, expires_at, networks_json, labels_json, selector, certificate,
         common_name, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
       ON CONFLICT (id) DO UPDATE SET name = ?2, role = ?3, hash = ?4, owner = ?5, expires_at = ?6, networks_json = ?7,
         labels_json = ?8, selector = ?9, certificate = ?10, common_name = ?11`,
      ...[id, ...values, ...rest, selector, certificate, commonName, this.#clock.now()],
    );
    this.#db.run('DELETE FROM withdrawn_tokens WHERE id = ?', id);
  }

  wasWithdrawn(id: string): boolean {
    return this.#db.get('SELECT 1 FROM withdrawn_tokens WHERE id = ?', id) !== undefined;
  }

  handOver(from: string, to: string): void {
    this.#db.run('UPDATE tokens SET owner = ? WHERE owner = ?', to, from);
  }

  remove(id: string): void {
    this.#db.run('DELETE FROM tokens WHERE id = ?', id);
  }

  /** Those that expire before a time, and have not yet. */
  expiringBefore(time: number): Token[] {
    return this.list(null).filter(
      ({ state, expiresAt }) => state === 'valid' && expiresAt !== null && Date.parse(expiresAt) < time,
    );
  }

  /** The one that has this certificate already. */
  withCertificate(certificate: SetCertificate): Token | undefined {
    const row = this.#db.get(`${SELECT} WHERE t.hash = ?`, keyOf(certificate));
    return row && this.#fromRow(row);
  }

  /**
   * By the certificate of which nginx has found that the client has its key. Its dates, and who issued it, are looked at here.
   * One that is set itself is never taken for one that a CA has issued: its record says all about it.
   */
  findByCertificate(pem: string, address: string): KnownToken | undefined {
    const now = this.#clock.now();
    const shown = shownBy(pem);
    if (shown === undefined || !holdsAt(shown, now)) return undefined;
    const own = this.#db.get(`${SELECT} WHERE t.hash = ?`, `certificate:${fingerprintOf(shown)}`);
    if (own !== undefined) return this.#known(own, address);
    const issued = this.#db.all(`${SELECT} WHERE t.common_name IS NOT NULL ORDER BY t.rowid`);
    for (const row of issued) {
      const set = { pem: row.certificate as string, commonName: row.common_name as string };
      // A CA that was renewed has two certificates, and there may be a token for each.
      const token = isIssued(shown, set, now) ? this.#known(row, address) : undefined;
      if (token !== undefined) return token;
    }
    return undefined;
  }

  /** Looked up by its hash: the time this takes reveals nothing about any token. */
  find(secret: string, address: string): KnownToken | undefined {
    const row = this.#db.get(`${SELECT} WHERE t.hash = ?`, secretHash(secret));
    return row && this.#known(row, address);
  }

  /** What is known of a token that was shown from an address; undefined when it may not be used. */
  #known(row: Row, address: string): KnownToken | undefined {
    const now = this.#clock.now();
    if (row.owner_disabled_at !== null) return undefined;
    const expiresAt = row.expires_at as number | null;
    if (expiresAt !== null && expiresAt <= now) return undefined;
    if (!isInside(row.networks_json as string, address)) return undefined;
    const own = row.role as TokenRole;
    const role = row.owner_role === null ? own : withinRole(own, row.owner_role as Role);
    if (role === null) return undefined;
    if (now - ((row.last_used_at as number | null) ?? 0) > NOTE_USE_MS) {
      this.#db.run(
        'UPDATE tokens SET last_used_at = ?, last_used_from = ? WHERE id = ?',
        ...[now, address, row.id as string],
      );
    }
    return {
      ...{ name: row.name as string, role, owner: row.owner as string | null },
      ...{ labels: JSON.parse(row.labels_json as string), selector: row.selector as string | null },
      expiresAt,
    };
  }

  hasCertificates(): boolean {
    return this.#db.get('SELECT 1 FROM tokens WHERE certificate IS NOT NULL LIMIT 1') !== undefined;
  }

  /** Throws `not_found`. */
  mustFind(id: string): Token {
    const token = this.get(id);
    if (token === undefined) throw fail('not_found', `There is no token ${id}.`);
    return token;
  }
}
