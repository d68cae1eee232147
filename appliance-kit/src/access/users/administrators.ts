// A file with the administrators' password hashes and what their second factors are checked with, for supportd's page: it
// has to know who may sign in when akd and its database are gone. Who is disabled, or has not replaced a one-time password, is not in it. Readable by akd and by the
// group of its folder, which is supportd's; it is in no support bundle.
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from '../../state/database.ts';

export function keepAdministrators(
  db: Database,
  state: string,
  secondFactorsOf: (name: string) => Readonly<Record<string, unknown>>,
): void {
  const rows = db.all(
    `SELECT name, password_hash FROM users
     WHERE role = 'administrator' AND disabled_at IS NULL AND one_time_until IS NULL AND password_hash <> ''
     ORDER BY name`,
  );
  const list = rows.map((row) => ({
    name: row.name,
    passwordHash: row.password_hash,
    ...secondFactorsOf(row.name as string),
  }));
  const file = join(state, 'administrators.json');
  writeFileSync(`${file}.new`, `${JSON.stringify(list)}\n`, { mode: 0o640 });
  renameSync(`${file}.new`, file);
}
