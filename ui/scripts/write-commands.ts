// write-commands.ts FOLDER VERSION OWN PROGRAM: what the page “Command line” reads (list.json), and SHA256SUMS, of the archives in
// FOLDER and of the appliance's own PROGRAM, which the web server hands out as OWN.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Commands } from '../src/access/command-line/commands.ts';

const [folder = '', version = '', own = '', program = ''] = process.argv.slice(2);
const files = readdirSync(folder).filter((name) => name.startsWith('cistern-'));
const programs = [...files, own].sort().map((file) => {
  const content = readFileSync(file === own ? program : path.join(folder, file));
  const [, system = '', architecture = ''] = /^cistern-([a-z]+)-([a-z0-9]+)(?:\.tar\.xz|\.zip)?$/.exec(file) ?? [];
  if (system === '') throw new Error(`${file} does not say which system it is for`);
  return {
    system,
    architecture,
    file,
    bytes: content.length,
    sha256: createHash('sha256').update(content).digest('hex'),
  };
});
const list: Commands = { version, programs };
writeFileSync(path.join(folder, 'list.json'), `${JSON.stringify(list, null, 1)}\n`);
writeFileSync(path.join(folder, 'SHA256SUMS'), programs.map((one) => `${one.sha256}  ${one.file}\n`).join(''));
