import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allAlertClasses as catalogue } from '../../appliance.ts';

test('every class keeps its promises', () => {
  const names = catalogue.map((kind) => kind.class);
  assert.equal(new Set(names).size, names.length);
  for (const one of catalogue) {
    const given = one.example;
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
  for (const { dedupKey, dedupExample, example } of catalogue) assert.equal(dedupKey(example), dedupExample);
});
