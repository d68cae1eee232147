// Brings a database to today's shape. Each domain declares its own steps; what was applied is recorded step by step, so a
// domain can be added, or take another step, without a number that all domains share. A step that was released is never
// edited. Times in tables are milliseconds since the epoch; columns named *_json hold JSON.
import type { DatabaseSync } from 'node:sqlite';

export interface Migration {
  readonly sql: string;
  /** What SQL cannot say, in the same transaction, after it. */
  readonly further?: (db: DatabaseSync) => void;
  /** The tables of this step were in databases of format 6, whose steps were one list for all domains. */
  readonly inFormat6?: true;
}

/** A domain's steps, in order. */
export interface Steps {
  readonly name: string;
  readonly migrations: readonly Migration[];
}

/** The last format (`user_version`) whose steps were one list. */
const FORMAT_6 = 6;
/** The format in which the steps of each domain are recorded. */
const FORMAT = 7;

const RECORD = `
  CREATE TABLE applied_steps (
    domain TEXT NOT NULL,
    step INTEGER NOT NULL,               -- from 1
    PRIMARY KEY (domain, step)
  ) STRICT;
`;

/** @param transaction all of it or nothing */
export function migrate(
  db: DatabaseSync,
  domains: readonly Steps[],
  transaction: (work: () => void) => void,
  file: string,
): void {
  const format = Number(db.prepare('PRAGMA user_version').get()?.user_version ?? 0);
  if (format > FORMAT) {
    throw new Error(
      `${file} was written by a newer version (format ${format}, this one knows ${FORMAT}); it is left alone`,
    );
  }
  if (format > 0 && format < FORMAT_6) {
    throw new Error(
      `${file} has the format ${format} of an early development version, which is not read any more: start a version of ` +
        `format ${FORMAT_6} on it once, or move the file away to begin anew`,
    );
  }
  if (format < FORMAT) {
    transaction(() => {
      db.exec(RECORD);
      if (format === FORMAT_6) {
        for (const { name, migrations } of domains) {
          migrations.forEach(({ inFormat6 }, at) => {
            if (inFormat6) note(db, name, at + 1);
          });
        }
      }
      db.exec(`PRAGMA user_version=${FORMAT}`);
    });
  }
  const applied = db.prepare('SELECT domain, step FROM applied_steps').all() as { domain: string; step: number }[];
  for (const { domain, step } of applied) {
    const known = domains.find(({ name }) => name === domain)?.migrations.length ?? 0;
    if (step <= known) continue;
    throw new Error(
      `${file} was written by a newer version (step ${step} of ${domain}, this one knows ${known}); it is left alone`,
    );
  }
  const done = new Set(applied.map(({ domain, step }) => `${domain}/${step}`));
  for (const { name, migrations } of domains) {
    migrations.forEach(({ sql, further }, at) => {
      if (done.has(`${name}/${at + 1}`)) return;
      transaction(() => {
        db.exec(sql);
        further?.(db);
        note(db, name, at + 1);
      });
    });
  }
}

function note(db: DatabaseSync, domain: string, step: number): void {
  db.prepare('INSERT INTO applied_steps VALUES (?, ?)').run(domain, step);
}
