// The record of every change: who, from where, what, from which value to which. Secrets are masked before they
// are written, so that the log need not be kept secret.

import { type Clock, iso } from '../../base/clock.ts';
import { masked } from '../../base/masked.ts';
import type { Caller } from '../../http/gate/caller.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Database } from '../../state/database.ts';
import type { routes } from './routes.ts';
import type { AuditEntry } from './schema.ts';

export class Audit {
  readonly #db: Database;
  readonly #clock: Clock;

  constructor(db: Database, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  /** Call it inside the transaction that makes the change: either both happened or neither did. */
  record(caller: Caller, action: string, target: string, before: unknown = null, after: unknown = null): void {
    const json = (value: unknown) => (value === null ? null : JSON.stringify(masked(value)));
    this.#db.run(
      'INSERT INTO audit (time, user, address, action, target, before_json, after_json) VALUES (?, ?, ?, ?, ?, ?, ?)',
      this.#clock.now(),
      caller.name || '-',
      caller.address,
      action,
      target,
      json(before),
      json(after),
    );
  }

  /** The newest first; with `before`, only what is older than the entry of that id. */
  latest(limit: number, before = Number.MAX_SAFE_INTEGER): AuditEntry[] {
    return this.#db.all('SELECT * FROM audit WHERE id < ? ORDER BY id DESC LIMIT ?', before, limit).map((row) => ({
      id: row.id as number,
      time: iso(row.time as number),
      user: row.user as string,
      address: row.address as string,
      action: row.action as string,
      target: row.target as string,
      before: JSON.parse((row.before_json as string | null) ?? 'null'),
      after: JSON.parse((row.after_json as string | null) ?? 'null'),
    }));
  }
}

export function auditRoutes(audit: Audit): Handlers<typeof routes> {
  return { listAudit: ({ query }) => ({ items: audit.latest(query.limit ?? 100, query.before) }) };
}
