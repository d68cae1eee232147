import assert from 'node:assert/strict';
import { test } from 'node:test';
import { catalogue } from './catalogue.ts';
import { example as args } from './example.ts';

test('every class keeps its promises', () => {
  const names = catalogue.map((kind) => kind.class);
  assert.equal(new Set(names).size, names.length);
  for (const kind of catalogue) {
    const one = kind as (typeof catalogue)[0];
    const given = args as unknown as Parameters<typeof one.title>[0];
    assert.match(one.class, /^[a-z]+\.[a-z]+$/);
    // Conditions find their own keys by the class they begin with.
    assert.ok(one.dedupKey(given).startsWith(`${one.class}/`), one.class);
    assert.ok(['critical', 'warning', 'info'].includes(one.severity(given)), one.class);
    for (const words of [one.text, one.impact, one.response, one.action]) {
      assert.match(words(given), /^\S.*[.]$/, `${one.class}: a sentence`);
      assert.ok(!words(given).includes('undefined'), words(given));
    }
    assert.match(one.page(given), /^\/[a-z]/);
    if (one.class !== 'delivery.failing') continue;
    assert.ok(one.visibleAfterSeconds > 0);
  }
  const examples = catalogue.map((kind) => [
    (kind as (typeof catalogue)[0]).dedupKey(args as never),
    kind.dedupExample,
  ]);
  for (const [key, example] of examples) assert.equal(key, example);
});
