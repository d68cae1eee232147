// The manual's list of pages, and the places that are kept.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { pagesFile, pagesText } from '../scripts/write-pages.ts';
import { kept } from '../src/frame/kept.ts';
import { navigation, places } from '../src/frame/places.ts';

const source = (file: string) => readFileSync(path.join(import.meta.dirname, '../src', file), 'utf8');

test('docs/manual/pages.md names the pages that there are', () => {
  assert.equal(readFileSync(pagesFile, 'utf8'), pagesText(), 'run: node ui/scripts/write-pages.ts');
});

test('each place is in the list once', () => {
  const text = pagesText();
  for (const { path: to } of [...places, ...kept]) {
    const rows = text.split('\n').filter((line) => line.includes(`| \`${to}\` |`));
    assert.equal(rows.length, 1, to);
  }
});

test('no page takes the place of one that is kept', () => {
  const routes = [...source('frame/App.tsx').matchAll(/<Route path="([^"]*)"/g)].map(([, route]) => route);
  assert.ok(routes.includes('/status'));
  for (const { path: to, key } of kept) {
    assert.ok(!places.some((place) => place.path === to) && !routes.includes(to), to);
    assert.ok(!source('access/SettingsPage.tsx').includes(`'${to}'`), `${to} is there: it is kept no more`);
    assert.ok(key === '' || !navigation.some((place) => place.key === key), key);
  }
});
