// Bundles akd into one file, dist/akd.js, what support bundles need of it when it is dead into another, and the thread that
// estimates passwords into a third: the image needs no node_modules, and one file starts faster than hundreds.
import { chmodSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const { version } = JSON.parse(readFileSync(at('../package.json'), 'utf8')) as { version: string };

await build({
  entryPoints: {
    akd: at('../src/main.ts'),
    'export-configuration': at('../src/export-configuration.ts'),
    'password-strength': at('../src/access/users/strength-thread.ts'),
  },
  outdir: at('../dist'),
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'esm',
  minify: true,
  // Stack traces in the log keep their names.
  keepNames: true,
  define: { __CISTERN_VERSION__: JSON.stringify(version) },
  legalComments: 'eof',
  // What is CommonJS in the bundle asks for Node's own modules by require.
  banner: {
    js: "#!/usr/bin/env node\nimport { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
});
for (const name of ['akd', 'export-configuration', 'password-strength']) chmodSync(at(`../dist/${name}.js`), 0o755);
