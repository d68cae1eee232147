import assert from 'node:assert/strict';
import { test } from 'node:test';
import { merge, overSentence, overTotal, quantile, total } from '../src/charts/distribution.ts';

test('quantiles lie in the bin that holds them', () => {
  const bins: [number, number, number][] = [
    [0.1, 0.11, 90],
    [0.5, 0.51, 9],
    [2, 2.1, 1],
  ];
  const at = (q: number) => quantile(bins, q) as number;
  assert.ok(at(0.5) >= 0.1 && at(0.5) <= 0.11);
  assert.ok(at(0.99) >= 0.5 && at(0.99) <= 0.51);
  assert.ok(at(0.999) >= 2 && at(0.999) <= 2.1);
  assert.equal(quantile([], 0.5), undefined);
  assert.equal(total(bins), 100);
});

test('columns merge without losing an event', () => {
  const merged = merge([
    [
      [1, 1.1, 2],
      [2, 2.1, 3],
    ],
    [[1, 1.1, 5]],
  ]);
  assert.deepEqual(merged, [
    [1, 1.1, 7],
    [2, 2.1, 3],
  ]);
});

test('people beyond the limit, then the share', () => {
  assert.equal(overSentence(37, 41_200, 1.5, 'seconds'), '37 of 41,200 slower than 1.5 s (0.09 %)');
  assert.equal(overSentence(0, 0, 1.5, 'seconds'), '0 of 0 slower than 1.5 s (0 %)');
  assert.equal(overSentence(1, 3, 2048, 'bytes'), '1 of 3 larger than 2 KiB (33 %)');
  assert.equal(overSentence(5, 400, 7, 'plain'), '5 of 400 above 7 (1.3 %)');
  assert.deepEqual(
    overTotal([
      { time: 1, count: 10, over: 2, total: 2 },
      { time: 2, count: 5, over: 1, total: 3 },
    ]),
    { over: 3, count: 15 },
  );
});
