import assert from 'node:assert/strict';
import { test } from 'node:test';
import { overSentence } from '../src/charts/overLimit.ts';
import { figureOf } from '../src/charts/units.ts';

const said = (over: number, count: number, limit: number, unit: string) =>
  overSentence(over, count, limit, unit, figureOf(unit, false));

test('how many are beyond the limit, then the share', () => {
  assert.equal(said(37, 41_200, 1.5, 'seconds'), '37 of 41,200 slower than 1.5 s (0.09 %)');
  assert.equal(said(0, 0, 1.5, 'seconds'), '0 of 0 slower than 1.5 s (0 %)');
  assert.equal(said(1, 3, 2048, 'bytes'), '1 of 3 larger than 2 KiB (33 %)');
  assert.equal(said(5, 400, 7, 'count'), '5 of 400 above 7 (1.3 %)');
  assert.equal(said(2 + 1, 10 + 5, 7, 'count'), '3 of 15 above 7 (20 %)');
});
