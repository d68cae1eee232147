// Writes services/support/bundle/viewer.html, which supportd puts into every bundle: src/support/viewer/page.html with its
// program in it, in one file, because a page that is opened from a file may load no script. `--check` says whether it is up
// to date.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { build, type Rolldown } from 'vite';

const source = path.join(import.meta.dirname, '../src/support/viewer');
const written = path.join(import.meta.dirname, '../../services/support/bundle/viewer.html');

export async function viewer(): Promise<string> {
  const made = (await build({
    configFile: false,
    logLevel: 'silent',
    build: {
      write: false,
      target: 'es2022',
      // A difference of the file that is checked in can be read.
      minify: false,
      // Its comments name files from here, wherever it is run.
      rolldownOptions: { cwd: path.join(import.meta.dirname, '..') },
      lib: { entry: path.join(source, 'viewer.ts'), formats: ['iife'], name: 'viewer', fileName: 'viewer' },
    },
  })) as Rolldown.RolldownOutput[];
  const program = made[0]?.output[0].code ?? '';
  if (/<\/script|<!--/i.test(program)) throw new Error('the program would end the script that it stands in');
  const page = readFileSync(path.join(source, 'page.html'), 'utf8');
  const [before, after] = page.split('/*PROGRAM*/');
  if (after === undefined) throw new Error('page.html has no place for the program');
  return before + program.trim() + after;
}

if (process.argv[1] === import.meta.filename) {
  const text = await viewer();
  if (!process.argv.includes('--check')) {
    writeFileSync(written, text);
  } else if (readFileSync(written, 'utf8') !== text) {
    console.error(
      'services/support/bundle/viewer.html is not what the sources make; run: node ui/scripts/write-viewer.ts',
    );
    process.exitCode = 1;
  }
}
