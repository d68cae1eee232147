// The real Go programs, built once for all tests that need them.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const services = fileURLToPath(new URL('../../services', import.meta.url));
const folder = fileURLToPath(new URL('../dist/test', import.meta.url));

export function program(name: 'cistern' | 'execd' | 'storaged' | 'supportd'): string {
  // A folder in which somebody has built them already.
  const given = process.env.CISTERN_BIN;
  if (given && existsSync(join(given, name))) return join(given, name);
  mkdirSync(folder, { recursive: true });
  const binary = join(folder, name);
  // Go's own cache makes this cheap when nothing has changed.
  execFileSync('go', ['build', '-o', binary, `./cmd/${name}`], {
    cwd: services,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return binary;
}
