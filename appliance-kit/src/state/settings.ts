// Single values that outlive a restart, by name.
import type { Database } from './database.ts';

export class Settings {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  get<T>(key: string): T | undefined {
    const row = this.#db.get('SELECT value_json FROM settings WHERE key = ?', key);
    return row === undefined ? undefined : (JSON.parse(row.value_json as string) as T);
  }

  set(key: string, value: unknown): void {
    this.#db.run(
      'INSERT INTO settings (key, value_json) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value_json = excluded.value_json',
      key,
      JSON.stringify(value),
    );
  }
}
