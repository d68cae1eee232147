// A heatmap's bins as cells, their shades, and the values and places along its axis.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Bins, binBounds } from '../src/api/columns.ts';
import { cellsOf, extentOf, mergeBins, placeOf, quantileOf, rankShades, valueAtPlace } from '../src/charts/bins.ts';
import { columnAt } from '../src/charts/columnAt.ts';

/** The bin that holds a value, with so many in it. */
const binOf = (value: number): number => {
  if (value === 0) return 0;
  for (let bin = 1; bin < 23_040; bin += 1) {
    const [lower, upper] = binBounds(bin);
    if (value >= lower && value < upper) return bin;
  }
  throw new Error(`no bin holds ${value}`);
};
const bins = (...counts: [value: number, count: number][]): Bins => ({
  at: Int32Array.from(counts, ([value]) => binOf(value)),
  counts: Float64Array.from(counts, ([, count]) => count),
  total: counts.reduce((sum, [, count]) => sum + count, 0),
});
const sumOf = (cells: Float64Array) => cells.reduce((sum, count) => sum + count, 0);

test('an empty cell has no shade; the fullest is the darkest; equal counts look alike', () => {
  const shades = rankShades(Float64Array.of(0, 1, 1, 5, 1_000_000, 0));
  assert.equal(shades[0], 0);
  assert.equal(shades[5], 0);
  assert.equal(shades[1], shades[2]);
  assert.equal(shades[4], 1);
  assert.ok((shades[1] as number) > 0.3, 'one outlier among a million shows');
});

test('counts are kept when bins are spread over rows', () => {
  const all = bins([0.1, 40], [0.5, 5], [0.9, 5], [1.5, 2]);
  for (const scale of ['log', 'linear'] as const) {
    const cells = cellsOf([all, null, null], extentOf(all, scale, 0), 20);
    assert.ok(Math.abs(sumOf(cells) - 52) < 1e-9, `${scale}: ${sumOf(cells)}`);
    assert.ok(
      Array.from(cells).every((count, cell) => count === 0 || cell % 3 === 0),
      'only in its column',
    );
  }
});

test('values of zero and below stay on the picture', () => {
  const all = bins([0, 3], [1, 1]);
  const cells = cellsOf([all], extentOf(all, 'log', 0), 10);
  assert.ok(Math.abs(sumOf(cells) - 4) < 1e-9);
  assert.ok((cells[0] as number) >= 3);
});

test('trimming leaves out at most the share that was asked for, and says how many', () => {
  const all = bins([0.1, 990], [50, 10]);
  assert.equal(extentOf(all, 'linear', 0).above, 0);
  const { lower, upper, above } = extentOf(all, 'linear', 0.01);
  assert.deepEqual({ lower, upper, above }, { lower: 0, upper: 0.11, above: 10 });
  assert.equal(extentOf(all, 'linear', 0.005).above, 0, 'ten of a thousand are more than half a percent');
});

test('a moment outside of the columns has none', () => {
  const frame = { start: 100, step: 10, columns: [bins([1, 1]), null, bins([1, 1])] };
  assert.equal(columnAt(frame, null), -1);
  assert.equal(columnAt(undefined, 100), -1);
  assert.equal(columnAt(frame, 95), -1);
  assert.equal(columnAt(frame, 100), 0);
  assert.equal(columnAt(frame, 129), 2);
  assert.equal(columnAt(frame, 130), -1);
});

test('place and value are inverses', () => {
  for (const scale of ['log', 'linear'] as const) {
    const range = { lower: 0.01, upper: 10, scale, above: 0, total: 1 };
    for (const value of [0.01, 0.3, 1, 10]) {
      assert.ok(Math.abs(valueAtPlace(placeOf(value, range), range) - value) < 1e-9);
    }
  }
});

test('a wide range is logarithmic, a narrow one linear, and nothing at all is neither a crash nor a line', () => {
  assert.equal(extentOf(bins([0.001, 1], [2, 1]), 'auto', 0).scale, 'log');
  assert.equal(extentOf(bins([1, 1], [2, 1]), 'auto', 0).scale, 'linear');
  assert.equal(cellsOf([null, null], extentOf(bins(), 'log', 0), 2).length, 4);
});

test('quantiles lie in the bin that holds them', () => {
  const all = bins([0.1, 90], [0.5, 9], [2, 1]);
  const at = (q: number) => quantileOf(all, q);
  assert.ok(at(0.5) >= 0.1 && at(0.5) <= 0.11);
  assert.ok(at(0.99) >= 0.5 && at(0.99) <= 0.51);
  assert.ok(at(0.999) >= 2 && at(0.999) <= 2.1);
  assert.ok(Number.isNaN(quantileOf(bins(), 0.5)));
  assert.equal(all.total, 100);
});

test('columns merge without losing an event', () => {
  const merged = mergeBins([bins([1, 2], [2, 3]), bins([1, 5])]);
  assert.deepEqual([...merged.at], [binOf(1), binOf(2)]);
  assert.deepEqual([...merged.counts], [7, 3]);
  assert.equal(merged.total, 10);
});
