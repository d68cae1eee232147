// Single values that outlive a restart, by name. Domains declare theirs.
import type { Database, Migration } from './database.ts';

export interface Setting<T> {
  readonly key: string;
  /** Only a type: what is stored under the key. */
  readonly of?: T;
}

export const setting = <T>(key: string): Setting<T> => ({ key });

export const settingsMigrations: readonly Migration[] = [
  {
    inFormat6: true,
    sql: 'CREATE TABLE settings (key TEXT PRIMARY KEY, value_json TEXT NOT NULL) STRICT;',
  },
];

export class Settings {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  get<T>({ key }: Setting<T>): T | undefined {
    const row = this.#db.get('SELECT value_json FROM settings WHERE key = ?', key);
    return row === undefined ? undefined : (JSON.parse(row.value_json as string) as T);
  }

  set<T>({ key }: Setting<T>, value: T): void {
    this.#db.run(
      'INSERT INTO settings (key, value_json) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value_json = excluded.value_json',
      key,
      JSON.stringify(value),
    );
  }
}
