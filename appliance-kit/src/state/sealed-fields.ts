// Secrets within the settings of a row, as the password of a destination: each is sealed by itself, so that all else of the row
// can be read in an export. docs/FORMATS.md, "Sealed secrets".
import type { Log } from '../base/log.ts';
import type { Database } from './database.ts';
import type { Seal } from './sealed.ts';

type Part = Record<string, unknown>;
type Parts = Record<string, unknown>;

export interface SealedFieldsParts {
  readonly seal: Seal;
  readonly log: Log;
  /** What the rows are, for what a secret belongs to: `destination`. */
  readonly kind: string;
  /** With `id` and `settings_json`. */
  readonly table: string;
  /** The secrets of each part of the settings. */
  readonly secrets: Readonly<Record<string, readonly string[]>>;
}

const isPart = (value: unknown): value is Part => typeof value === 'object' && value !== null;

export class SealedFields {
  readonly #parts: SealedFieldsParts;

  constructor(parts: SealedFieldsParts) {
    this.#parts = parts;
  }

  /** The settings with each secret replaced by what `change` makes of it; undefined leaves it out. */
  #each(settings: Parts, change: (value: unknown, path: string) => unknown): Parts {
    const changed = { ...settings };
    for (const [name, fields] of Object.entries(this.#parts.secrets)) {
      if (!isPart(settings[name])) continue;
      const part = { ...settings[name] };
      for (const field of fields) if (part[field] !== undefined) part[field] = change(part[field], `${name}.${field}`);
      changed[name] = part;
    }
    return changed;
  }

  /** As it is stored. */
  write(id: string, settings: object): string {
    const { seal, kind } = this.#parts;
    const sealed = this.#each(settings as Parts, (value, path) => ({
      sealed: seal.seal([kind, id, path], Buffer.from(value as string, 'utf8')),
    }));
    return JSON.stringify(sealed);
  }

  /** As it was given. What is lost cannot be opened any more: it is missing, and has to be entered again. */
  read(id: string, stored: string): { settings: object; lost: readonly string[] } {
    const { seal, kind } = this.#parts;
    const lost: string[] = [];
    const settings = this.#each(JSON.parse(stored) as Parts, (value, path) => {
      // Before there were sealed ones.
      if (typeof value === 'string') return value;
      const opened = isPart(value) && typeof value.sealed === 'string' && seal.open([kind, id, path], value.sealed);
      if (opened) return opened.toString('utf8');
      lost.push(path);
      return undefined;
    });
    return { settings, lost };
  }

  /** Seals what an older version stored in clear, and says what cannot be opened. */
  sealStored(db: Database): void {
    const { table, kind, log } = this.#parts;
    let sealed = 0;
    db.transaction(() => {
      for (const row of db.all(`SELECT id, settings_json FROM ${table}`)) {
        const [id, stored] = [row.id as string, row.settings_json as string];
        let clear = false;
        this.#each(JSON.parse(stored) as Parts, (value) => {
          clear ||= typeof value === 'string';
          return value;
        });
        const { settings, lost } = this.read(id, stored);
        for (const name of lost)
          log.error('a stored secret cannot be opened: it has to be entered again', { kind, path: `${id} ${name}` });
        if (!clear) continue;
        db.run(`UPDATE ${table} SET settings_json = ? WHERE id = ?`, this.write(id, settings), id);
        sealed++;
      }
    });
    // Nothing of it stays in the log beside the database.
    if (sealed > 0) db.get('PRAGMA wal_checkpoint(TRUNCATE)');
  }
}
