import assert from 'node:assert/strict';
import { test } from 'node:test';
import { complaintIn, pointing, wordAt } from '../src/analytics/explore/promql.ts';

test('what the parser says becomes words at a column', () => {
  const complaint = complaintIn('query: invalid parameter: 1:14: parse error: unclosed left parenthesis');
  assert.deepEqual(complaint, { line: 1, column: 14, words: 'a “(” is not closed' });
  assert.equal(pointing('sum(rate(x[5m])', { line: 1, column: 4, words: '' }), 'sum(rate(x[5m])\n   ^');
  assert.equal(complaintIn('the store is away'), undefined);
  assert.equal(complaintIn('1:1: parse error: unknown function with name "rat"')?.words, 'there is no function “rat”');
});

test('the word before the caret is the one that is completed', () => {
  assert.deepEqual(wordAt('sum(rate(shop_ord', 17), { word: 'shop_ord', from: 9 });
  assert.deepEqual(wordAt('sum(', 4), { word: '', from: 4 });
});
