// The parts that are built before the stack can start: Go programs, and the pages. Run as a program it builds what is
// not up to date; `build()` runs it under a lock, because several stacks may start at once.
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
export const root = path.join(import.meta.dirname, '../..');
export const binaries = path.join(root, 'out/dev/bin');
const ownPages = path.join(root, 'out/dev/ui');
/** The built pages; CISTERN_UI names a directory that holds them already. */
const pages = process.env.CISTERN_UI ?? ownPages;

async function orSay(command: string, args: string[], cwd: string, env: Record<string, string> = {}): Promise<void> {
  try {
    await run(command, args, { cwd, env: { ...process.env, ...env }, maxBuffer: 64 * 2 ** 20 });
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`${[command, ...args].join(' ')} failed:\n${stdout}${stderr}`, { cause: error });
  }
}

/** Go knows itself what is up to date. */
export async function buildGo(
  names: readonly string[] = ['storaged', 'supportd', 'gatherd', 'cistern', 'execd'],
): Promise<void> {
  mkdirSync(binaries, { recursive: true });
  const commands = names.map((name) => `./cmd/${name}`);
  await orSay('go', ['build', '-o', `${binaries}/`, ...commands], `${root}/services`, {
    // As build/toolchain.sh has it: what was built with other flags would be compiled anew.
    GOFLAGS: process.env.GOFLAGS ?? '-buildvcs=false -trimpath -tags=grpcnotrace',
    CGO_ENABLED: '0',
  });
}

function newest(files: readonly string[]): number {
  return Math.max(
    ...files.flatMap((file) => {
      const stat = statSync(file);
      return stat.isDirectory() ? [newest(readdirSync(file).map((name) => path.join(file, name)))] : [stat.mtimeMs];
    }),
  );
}

async function buildPages(): Promise<void> {
  if (pages !== ownPages) {
    if (!existsSync(`${pages}/index.html`)) throw new Error(`CISTERN_UI=${pages} holds no index.html`);
    return;
  }
  const sources = ['src', 'public', 'index.html', 'vite.config.ts', 'package.json'].map((name) => `${root}/ui/${name}`);
  const index = `${pages}/index.html`;
  if (existsSync(index) && statSync(index).mtimeMs > newest([...sources, `${root}/package-lock.json`])) return;
  const vite = `${root}/node_modules/vite/bin/vite.js`;
  await orSay(process.execPath, [vite, 'build', 'ui', '--outDir', pages, '--emptyOutDir'], root);
}

/**
 * Builds what is needed. `pagesTo`: a directory that gets a copy of the pages, so that a later build does not pull them
 * from under a stack that runs.
 */
export async function build(pagesTo?: string): Promise<void> {
  mkdirSync(path.join(root, 'out/dev'), { recursive: true });
  const args = pagesTo === undefined ? [] : [pagesTo];
  await orSay('flock', [path.join(root, 'out/dev/lock'), process.execPath, import.meta.filename, ...args], root);
}

if (process.argv[1] === import.meta.filename) {
  // build.ts [--pages | FOLDER]: programs; and the pages; and a copy of the pages in FOLDER
  const pagesTo = process.argv[2];
  try {
    await Promise.all([buildGo(), pagesTo === undefined ? undefined : buildPages()]);
    if (pagesTo !== undefined && pagesTo !== '--pages') cpSync(pages, pagesTo, { recursive: true });
  } catch (error) {
    console.error((error as Error).message);
    process.exitCode = 1;
  }
}
