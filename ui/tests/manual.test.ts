// The documents as pages: every link between them leads to a page, and to a heading that is there.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { anchor, documents, page } from '../manual.ts';
import { manualOf, places } from '../src/frame/places.ts';

const folder = path.join(import.meta.dirname, '../../docs');
const pages = new Map(
  documents().map((file) => [
    file.replace(/\.md$/, '.html'),
    page(file, readFileSync(path.join(folder, file), 'utf8')),
  ]),
);

test('every link between the documents leads to a page and to one of its headings', () => {
  assert.ok(pages.has('manual/README.html') && pages.has('api/inputs.html'));
  for (const [file, html] of pages) {
    for (const [, href = ''] of html.matchAll(/<a href="([^"]*)"/g)) {
      if (/^https?:|^\/$/.test(href)) continue;
      const [target = '', fragment] = href.split('#');
      const at = target === '' ? file : path.posix.join(path.posix.dirname(file), target);
      const found = pages.get(at);
      assert.ok(found !== undefined, `${file} links to ${href}, which is no page`);
      if (fragment)
        assert.ok(found.includes(` id="${fragment}"`), `${file} links to ${href}: there is no such heading`);
    }
  }
});

test('what stands in a document is text: no markup of its own', () => {
  const html = page(
    'manual/x.md',
    '# A <b>title</b>\n\n<script>alert(1)</script>\n\n[out](../../CONTRIBUTING.md) `a<b`\n',
  );
  assert.ok(!html.includes('<script') && !html.includes('<b>'), html);
  assert.ok(html.includes('&lt;script&gt;') && html.includes('a&lt;b'), html);
  assert.ok(!html.includes('CONTRIBUTING'), 'a link that leaves the documents is its words alone');
});

test('anchors are those that GitHub gives', () => {
  assert.equal(anchor('Samples in binary form (CISTSMP3)'), 'samples-in-binary-form-cistsmp3');
});

test('the help of every page leads to a page of the manual', () => {
  for (const { path: place } of places) {
    assert.ok(pages.has(manualOf(place).replace(/^\/docs\//, '')), `${place}: there is no ${manualOf(place)}`);
  }
  assert.equal(manualOf('/alerts/thresholds/new'), '/docs/manual/alerting.html');
  assert.equal(manualOf('/maintenance/snmp'), '/docs/manual/system.html');
  assert.equal(manualOf('/no/such/page'), '/docs/manual/README.html');
});
