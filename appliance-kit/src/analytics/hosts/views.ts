// Saved views of the hosts: what is in the address of the page, under a name.
import type { Audit } from '../../access/audit/index.ts';
import type { Clock } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import { atLeast, type Caller } from '../../http/gate/caller.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Database, Row } from '../../state/database.ts';
import { newId } from '../../state/id.ts';
import type { HostView, HostViewInput } from './schema.ts';

const MOST = 500;

const mayChange = (caller: Caller, row: Row) => row.owner === caller.name || atLeast(caller.role, 'administrator');

export class HostViews {
  readonly #parts: { db: Database; clock: Clock; audit: Audit; changes: Changes };

  constructor(parts: { db: Database; clock: Clock; audit: Audit; changes: Changes }) {
    this.#parts = parts;
  }

  list(caller: Caller): HostView[] {
    return this.#parts.db
      .all('SELECT * FROM host_views ORDER BY name COLLATE NOCASE, id')
      .filter((row) => row.shared === 1 || mayChange(caller, row))
      .map((row) => ({
        id: row.id as string,
        name: row.name as string,
        shared: row.shared === 1,
        address: row.address as string,
        owner: row.owner as string,
        mayChange: mayChange(caller, row),
      }));
  }

  create(caller: Caller, { name, shared, address }: HostViewInput): HostView {
    const { db, clock, audit, changes } = this.#parts;
    const id = newId('hv', clock.now());
    db.transaction(() => {
      if (Number(db.get('SELECT count(*) AS n FROM host_views')?.n) >= MOST)
        throw fail('too_many', `There are ${MOST} views already.`, 'Delete one that is not needed.');
      const sql = 'INSERT INTO host_views (id, name, owner, shared, address) VALUES (?, ?, ?, ?, ?)';
      db.run(sql, id, name, caller.name, shared ? 1 : 0, address);
      audit.record(caller, 'host-view.create', name);
    });
    changes.publish('hosts');
    return { id, name, shared, address, owner: caller.name, mayChange: true };
  }

  /** All of them, whoever may see them. */
  all(): { id: string; name: string; shared: boolean; address: string; owner: string }[] {
    return this.#parts.db.all('SELECT * FROM host_views ORDER BY id').map((row) => ({
      id: row.id as string,
      ...{ name: row.name as string, shared: row.shared === 1, address: row.address as string },
      owner: row.owner as string,
    }));
  }

  /** One of a settings document, with its id and owner. */
  put(caller: Caller, id: string, { name, owner, shared, address }: HostViewInput & { owner: string }): void {
    const { db, audit, changes } = this.#parts;
    db.transaction(() => {
      const sql = 'INSERT OR REPLACE INTO host_views (id, name, owner, shared, address) VALUES (?, ?, ?, ?, ?)';
      db.run(sql, id, name, owner, shared ? 1 : 0, address);
      audit.record(caller, 'host-view.create', name);
    });
    changes.publish('hosts');
  }

  remove(caller: Caller, id: string): void {
    const { db, audit, changes } = this.#parts;
    const row = db.get('SELECT * FROM host_views WHERE id = ?', id);
    if (row === undefined || (row.shared !== 1 && !mayChange(caller, row)))
      throw fail('not_found', `There is no view ${id}.`);
    if (!mayChange(caller, row))
      throw fail('forbidden', `“${row.name}” belongs to ${row.owner}; ${caller.name} may open it only.`);
    db.transaction(() => {
      db.run('DELETE FROM host_views WHERE id = ?', id);
      audit.record(caller, 'host-view.delete', row.name as string);
    });
    changes.publish('hosts');
  }
}
