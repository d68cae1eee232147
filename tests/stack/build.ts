// The parts that are built before the stack can start: Go programs, and the pages. Both build tools have caches of their
// own, so asking each time costs little.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
export const root = path.join(import.meta.dirname, '../..');
export const binaries = path.join(root, 'out/dev/bin');
export const pages = path.join(root, 'out/dev/ui');

async function orSay(what: string, command: string, args: string[], options: { cwd: string; env?: NodeJS.ProcessEnv }) {
  try {
    await run(command, args, { ...options, maxBuffer: 64 * 2 ** 20 });
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`${what} failed: ${command} ${args.join(' ')}\n${stdout}${stderr}`, { cause: error });
  }
}

/** storaged, supportd, cistern; into out/dev/bin. */
export async function buildGo(): Promise<void> {
  await mkdir(binaries, { recursive: true });
  const env = { ...process.env, GOFLAGS: '-buildvcs=false', CGO_ENABLED: '0' };
  const commands = ['storaged', 'supportd', 'cistern'].map((name) => `./cmd/${name}`);
  await orSay('building the Go programs', 'go', ['build', '-o', `${binaries}/`, ...commands], {
    cwd: `${root}/services`,
    env,
  });
}

/** The pages, into out/dev/ui; CISTERN_UI names a directory that holds them already. */
export async function buildPages(): Promise<string> {
  const given = process.env.CISTERN_UI;
  if (given !== undefined) {
    if (!existsSync(`${given}/index.html`)) throw new Error(`CISTERN_UI=${given} holds no index.html`);
    return given;
  }
  const vite = `${root}/node_modules/vite/bin/vite.js`;
  await orSay('building the pages', process.execPath, [vite, 'build', 'ui', '--outDir', pages, '--emptyOutDir'], {
    cwd: root,
  });
  return pages;
}
