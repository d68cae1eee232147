// How the pages are built: small first load, every file also gzipped for nginx's gzip_static, nothing from elsewhere.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';
import { manual } from './manual.ts';
import { search } from './search.ts';

/**
 * PatternFly's base style sheet carries themes we do not offer (felt, glass, high contrast by class): half of it. A rule
 * whose every selector names one of them is dropped, and with it the background images only they use.
 */
function onlyOurThemes(): Plugin {
  const rule = /^:root:where\([^{}]*pf-v6-theme-(?:felt|glass|high-contrast)[^{}]*\) \{[^{}]*\n\}\n/gm;
  return {
    name: 'only-our-themes',
    enforce: 'pre',
    transform(code, id) {
      if (!/react-core\/dist\/styles\/base\.css/.test(id)) return undefined;
      const without = code.replace(rule, '').replace(/url\("[^"]*(?:Felt|PF)-Bkg-Generic[^"]*"\)/g, 'none');
      return { code: without, map: null };
    },
  };
}

/**
 * `FILE.gz` beside every text file that gains from it. Made of what lies on the disk in the end: Vite still writes into
 * chunks while the bundle is generated.
 */
function gzipped(): Plugin {
  let dir = '';
  return {
    name: 'gzipped',
    apply: 'build',
    enforce: 'post',
    configResolved(config) {
      dir = path.resolve(config.root, config.build.outDir);
    },
    closeBundle() {
      for (const name of readdirSync(dir, { recursive: true, encoding: 'utf8' })) {
        if (!/\.(?:js|css|html|svg|json)$/.test(name)) continue;
        const source = readFileSync(path.join(dir, name));
        const packed = gzipSync(source, { level: 9 });
        if (packed.length < source.length) writeFileSync(path.join(dir, `${name}.gz`), packed);
      }
    },
  };
}

export default defineConfig({
  plugins: [onlyOurThemes(), react(), manual(), search(), gzipped()],
  build: {
    target: 'es2022',
    // A font or an icon as a data: URL would need a looser content security policy.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 600,
    reportCompressedSize: false,
  },
  server: {
    host: '127.0.0.1',
    port: Number(process.env.CISTERN_VITE_PORT ?? 5173),
    strictPort: true,
    // The browser talks to nginx, also for hot module replacement.
    hmr: { protocol: 'wss', host: 'localhost', clientPort: Number(process.env.CISTERN_HTTPS_PORT ?? 8443) },
  },
});
