// The documents in the image: docs/*.md, docs/manual and docs/api as pages under /docs/, linked from each page's help. Made
// by the build, so that the manual on an appliance is that of its version. They work without the rest of the page.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Marked } from 'marked';
import type { Plugin } from 'vite';

const root = path.resolve(import.meta.dirname, '..');
const folder = path.join(root, 'docs');

/** What a reader of an appliance has a use for; decisions and contributing are for those who work on it. */
const included = (file: string) =>
  /^(?:manual|api)\/[^/]+\.md$|^(?:FORMATS|GLOSSARY|OMNIOS|CHANGELOG|ARCHITECTURE)\.md$/.test(file);

export const documents = () =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((file) => file.split(path.sep).join('/'))
    .filter(included);

const escaped = (text: string) =>
  text.replace(/[&<>"]/g, (one) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[one] ?? one);

/** The anchor that GitHub gives a heading, so that links are the same in both places. */
export const anchor = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

export function page(file: string, markdown: string): string {
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        return `<h${depth} id="${anchor(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const words = this.parser.parseInline(tokens);
        if (/^https?:/.test(href)) return `<a href="${escaped(href)}" rel="noreferrer">${words}</a>`;
        const [target = '', fragment] = href.split('#');
        const at = path.posix.normalize(path.posix.join(path.posix.dirname(file), target));
        if (target !== '' && !included(at)) return words;
        return `<a href="${escaped(target.replace(/\.md$/, '.html'))}${fragment === undefined ? '' : `#${escaped(fragment)}`}">${words}</a>`;
      },
      table(token) {
        const row = (cells: typeof token.header, tag: string) =>
          `<tr>${cells.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join('')}</tr>`;
        const head = token.header.some(({ text }) => text !== '') ? `<thead>${row(token.header, 'th')}</thead>` : '';
        return `<div class="table"><table>${head}<tbody>${token.rows.map((cells) => row(cells, 'td')).join('')}</tbody></table></div>\n`;
      },
      // The documents are ours; text in them that looks like HTML is text.
      html: ({ text }) => escaped(text),
    },
  });
  const title = /^# (.*)$/m.exec(markdown)?.[1] ?? file;
  const up = '../'.repeat(file.split('/').length - 1);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title.replaceAll('`', ''))} · Cistern</title>
<link rel="stylesheet" href="${up}style.css">
</head>
<body>
<nav><a href="/">Appliance</a><a href="${up}manual/README.html">Manual</a></nav>
<main>
${marked.parse(markdown, { async: false })}</main>
</body>
</html>
`;
}

const style = () => readFileSync(path.join(import.meta.dirname, 'manual.css'), 'utf8');

export function manual(): Plugin {
  return {
    name: 'manual',
    generateBundle() {
      for (const file of documents()) {
        const source = page(file, readFileSync(path.join(folder, file), 'utf8'));
        this.emitFile({ type: 'asset', fileName: `docs/${file.replace(/\.md$/, '.html')}`, source });
      }
      this.emitFile({ type: 'asset', fileName: 'docs/style.css', source: style() });
    },
    configureServer(server) {
      server.middlewares.use('/docs', (request, response, next) => {
        const wanted = (request.url ?? '').split('?')[0]?.slice(1) ?? '';
        if (wanted === 'style.css') return void response.setHeader('content-type', 'text/css').end(style());
        const file = wanted.replace(/\.html$/, '.md');
        if (!documents().includes(file)) return next();
        response.setHeader('content-type', 'text/html; charset=utf-8');
        response.end(page(file, readFileSync(path.join(folder, file), 'utf8')));
      });
    },
  };
}
