// API tokens: random, shown once, of which the state knows only the hash.

import { randomBytes } from 'node:crypto';
import { type Clock, iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import type { TokenRole } from '../../http/gate/roles.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Database, Row } from '../../state/database.ts';
import { newId } from '../../state/id.ts';
import type { Audit } from '../audit/index.ts';
import { secretHash } from '../session/index.ts';
import type { routes } from './routes.ts';
import type { Token } from './schema.ts';

/** The last use is noted at most this often: a sender of metrics must not cost a write to disk with each request. */
const NOTE_USE_MS = 60 * 1000;

function fromRow(row: Row): Token {
  return {
    id: row.id as string,
    name: row.name as string,
    role: row.role as TokenRole,
    createdAt: iso(row.created_at as number),
    lastUsedAt: row.last_used_at === null ? null : iso(row.last_used_at as number),
  };
}

export class Tokens {
  readonly #db: Database;
  readonly #clock: Clock;

  constructor(db: Database, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  list(): Token[] {
    return this.#db.all('SELECT * FROM tokens ORDER BY rowid').map(fromRow);
  }

  create(name: string, role: TokenRole): Token {
    const now = this.#clock.now();
    const id = newId('tk', now);
    // The prefix lets a person, and a scanner for leaked secrets, see what this is.
    const token = `cistern_${randomBytes(32).toString('base64url')}`;
    this.#db.run('INSERT INTO tokens VALUES (?, ?, ?, ?, ?, NULL)', id, name, role, secretHash(token), now);
    return { id, name, role, createdAt: iso(now), lastUsedAt: null, token };
  }

  /** The token that was withdrawn. */
  remove(id: string): Token | undefined {
    const row = this.#db.get('SELECT * FROM tokens WHERE id = ?', id);
    if (row !== undefined) this.#db.run('DELETE FROM tokens WHERE id = ?', id);
    return row && fromRow(row);
  }

  /** Looked up by its hash: the time this takes reveals nothing about any token. */
  find(secret: string): { name: string; role: TokenRole } | undefined {
    const now = this.#clock.now();
    const row = this.#db.get('SELECT * FROM tokens WHERE hash = ?', secretHash(secret));
    if (row === undefined) return undefined;
    if (now - ((row.last_used_at as number | null) ?? 0) > NOTE_USE_MS) {
      this.#db.run('UPDATE tokens SET last_used_at = ? WHERE id = ?', now, row.id as string);
    }
    return { name: row.name as string, role: row.role as TokenRole };
  }
}

export function tokenRoutes(parts: { tokens: Tokens; db: Database; audit: Audit }): Handlers<typeof routes> {
  const { tokens, db, audit } = parts;
  return {
    listTokens: () => ({ items: tokens.list() }),
    createToken: ({ body, caller }) =>
      db.transaction(() => {
        const token = tokens.create(body.name, body.role);
        audit.record(caller, 'token.create', body.name, null, token);
        return token;
      }),
    deleteToken: ({ params, caller }) =>
      db.transaction(() => {
        const gone = tokens.remove(params.id);
        if (gone === undefined) throw fail('not_found', `There is no token ${params.id}.`);
        audit.record(caller, 'token.delete', gone.name, gone, null);
        return undefined;
      }),
  };
}
