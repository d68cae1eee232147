// The real `cistern` command, built once for all tests that need it.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const services = fileURLToPath(new URL('../../services', import.meta.url));
const folder = fileURLToPath(new URL('../dist/test', import.meta.url));

export function cistern(): string {
  const given = process.env.CISTERN_BIN;
  if (given) return existsSync(join(given, 'cistern')) ? join(given, 'cistern') : given;
  mkdirSync(folder, { recursive: true });
  const binary = join(folder, 'cistern');
  // Go's own cache makes this cheap when nothing has changed.
  execFileSync('go', ['build', '-o', binary, './cmd/cistern'], {
    cwd: services,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return binary;
}
