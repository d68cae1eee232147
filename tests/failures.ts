// What a failed test leaves behind: a folder of its own in out/failures, with the command that runs it again.
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const failures = path.join(import.meta.dirname, '../out/failures');

const split = (file: string) => [path.basename(path.dirname(path.resolve(file))), path.basename(file, '.test.ts')];

/** Of the test `name` of the test file `file`. */
export const folderOf = (file: string, name: string) =>
  path.join(failures, split(file).join('-'), name.replace(/[^a-z0-9]+/gi, '-').slice(0, 100));

/** The folder for the test `name` of this file, which is made. */
export function failureFolder(name: string): string {
  const file = process.argv.find((word) => word.endsWith('.test.ts')) ?? 'test';
  const [part, short] = split(file);
  const folder = folderOf(file, name);
  mkdirSync(folder, { recursive: true });
  const pattern = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll("'", "'\\''");
  writeFileSync(path.join(folder, 'repeat'), `./build.sh test ${part} ${short} '${pattern}'\n`);
  return folder;
}
