// akd's state: one SQLite file on the system pool. A call that returned is on disk (WAL with synchronous=FULL).
import { chmodSync, closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { migrate, type Steps } from './migrate.ts';

export type { Migration, Steps } from './migrate.ts';

export type Row = Record<string, string | number | null>;

/**
 * Makes the file, or takes it from the group of a service, whatever akd's umask is: it holds hashes of passwords. SQLite gives
 * the files that it makes beside it the same mode.
 */
function forOwnerOnly(file: string): void {
  closeSync(openSync(file, 'a', 0o600));
  for (const one of [file, `${file}-wal`, `${file}-shm`]) if (existsSync(one)) chmodSync(one, 0o600);
}

export class Database {
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  #depth = 0;

  /**
   * @param file `:memory:` for tests that do not restart
   * @param domains whose tables it has, in the order in which they are made
   */
  constructor(file: string, domains: readonly Steps[]) {
    if (file !== ':memory:') {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      forOwnerOnly(file);
    }
    this.#db = new DatabaseSync(file);
    this.#db.exec('PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; PRAGMA busy_timeout=5000');
    // What was deleted or changed is not left in the file.
    this.#db.exec('PRAGMA secure_delete=ON');
    // 1 MiB of page cache: the whole state is small, and memory is counted.
    this.#db.exec('PRAGMA cache_size=-1024');
    try {
      migrate(this.#db, domains, (work) => this.transaction(work), file);
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  #statement(sql: string): StatementSync {
    let found = this.#statements.get(sql);
    if (found === undefined) {
      found = this.#db.prepare(sql);
      this.#statements.set(sql, found);
    }
    return found;
  }

  all(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#statement(sql).all(...values) as Row[];
  }

  get(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#statement(sql).get(...values) as Row | undefined;
  }

  /** The number of rows that were changed. */
  run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#statement(sql).run(...values).changes);
  }

  /** All of it or nothing. Nothing inside may wait: the whole process shares the one connection. */
  transaction<T>(work: () => T): T {
    if (this.#depth > 0) return work();
    this.#db.exec('BEGIN IMMEDIATE');
    this.#depth++;
    try {
      const result = work();
      this.#db.exec('COMMIT');
      return result;
    } catch (error) {
      // On a full or failing disk SQLite has rolled back already (https://sqlite.org/lang_transaction.html).
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    } finally {
      this.#depth--;
    }
  }

  close(): void {
    this.#statements.clear();
    this.#db.close();
  }
}
