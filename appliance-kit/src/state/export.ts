// The whole configuration and history as one JSON document, for support bundles: `export-configuration.js DIR`,
// where DIR holds a copy of the state directory's database. supportd runs it as a program of its own, so that it works
// when akd does not. Secrets never leave the table they are in: columns that hold one are replaced, and fields named
// like one are masked in every stored document (audit.ts).
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { masked } from '../base/masked.ts';

/** Secrets: never exported. */
const left = new Set(['sessions', 'known_browsers', 'sqlite_sequence']);
const secretColumn = /^(password_hash|hash|sealed_secret)$/;

/** Every table's rows, by the table's name. Times are milliseconds since the epoch, as stored. */
export function exportConfiguration(directory: string): Record<string, unknown[]> {
  const file = join(directory, 'state.db');
  if (!existsSync(file)) throw new Error(`there is no database at ${file}`);
  const db = new DatabaseSync(file);
  try {
    const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").all() as {
      name: string;
    }[];
    const found: Record<string, unknown[]> = {};
    for (const { name } of tables) {
      if (left.has(name)) continue;
      const rows = db.prepare(`SELECT * FROM "${name.replaceAll('"', '""')}" LIMIT 10000`).all();
      found[name] = rows.map((row) =>
        Object.fromEntries(Object.entries(row).map(([column, value]) => [column, shown(column, value)])),
      );
    }
    return found;
  } finally {
    db.close();
  }
}

function shown(column: string, value: unknown): unknown {
  if (secretColumn.test(column)) return '[redacted]';
  if (!column.endsWith('_json') || typeof value !== 'string') return value;
  try {
    return masked(JSON.parse(value));
  } catch {
    // A document that does not read may hold anything: say that it is there, and no more.
    return '[unreadable]';
  }
}
