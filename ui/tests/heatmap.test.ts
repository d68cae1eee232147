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

/** Always the same numbers: mulberry32. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

test('the drawn cells add up to what was measured: whatever the bins, the scale and what is trimmed', () => {
  const random = generator(24);
  const below = (most: number) => Math.floor(random() * most);
  const LAST = 23_040;
  for (let n = 0; n < 2_000; n += 1) {
    // Of near one another or of all that there are, both signs and zero.
    const [middle, around] = [below(2 * LAST) - LAST, [3, 90, 900, 2 * LAST][below(4)] as number];
    const anyBin = () =>
      random() < 0.1 ? 0 : Math.min(Math.max(middle + below(2 * around + 1) - around, 1 - LAST), LAST - 1);
    const columns = Array.from({ length: 1 + below(4) }, () => {
      if (random() < 0.2) return null;
      const at = [...new Set(Array.from({ length: 1 + below(12) }, anyBin))].sort((a, b) => a - b);
      const counts = at.map(() => 1 + below(1000));
      return { at: Int32Array.from(at), counts: Float64Array.from(counts), total: counts.reduce((a, b) => a + b, 0) };
    });
    const all = mergeBins(columns);
    const scale = (['auto', 'log', 'linear'] as const)[below(3)] as 'auto';
    const extent = extentOf(all, scale, [0, 0, 0.01, 0.4][below(4)] as number);
    const rows = 1 + below(100);
    const cells = cellsOf(columns, extent, rows);
    assert.equal(cells.length, rows * columns.length);
    for (const [x, column] of columns.entries()) {
      const trimmed = column === null ? 0 : column.total - inColumn(cells, x, columns.length);
      const gone = [...(column?.at ?? [])].reduce(
        (sum, bin, k) => sum + (binBounds(bin)[1] > extent.upper ? ((column as Bins).counts[k] as number) : 0),
        0,
      );
      assert.ok(
        Math.abs(trimmed - gone) < 1e-6,
        `case ${n}, column ${x}: ${trimmed} are missing, ${gone} were trimmed`,
      );
    }
    assert.ok(
      Math.abs(sumOf(cells) + extent.above - all.total) < 1e-6,
      `case ${n}: ${sumOf(cells)} and ${extent.above} of ${all.total}, ${JSON.stringify(extent)}`,
    );
  }
});

const inColumn = (cells: Float64Array, x: number, columns: number) =>
  cells.reduce((sum, count, cell) => sum + (cell % columns === x ? count : 0), 0);

test('a cell is as dark as its count divided by its height', () => {
  // From 10 to 100 every bin is as wide as the next, and holds as much: no row is darker than another.
  const even = Array.from({ length: 90 }, (_, i): [number, number] => [10 + i, 64]);
  const all = bins(...even);
  const extent = { lower: 10, upper: 100, scale: 'linear' as const, above: 0, total: all.total };
  for (const rows of [7, 40, 64, 90]) {
    const shades = rankShades(cellsOf([all], extent, rows));
    assert.deepEqual([...new Set(shades)], [1], `${rows} rows`);
  }
  // A bin that is twice as high as another, with as many in it, is half as dark: [1, 1.1) beside [2.2, 2.3) on a logarithm.
  const [wide, narrow] = [bins([1, 100]), bins([2.2, 100])];
  const log = { lower: 1, upper: 10, scale: 'log' as const, above: 0, total: 200 };
  const darkest = (column: Bins) => Math.max(...cellsOf([column], log, 2_000));
  const height = (lower: number, upper: number) => placeOf(upper, log) - placeOf(lower, log);
  const wanted = height(1, 1.1) / height(2.2, 2.3);
  assert.ok(
    Math.abs(darkest(narrow) / darkest(wide) / wanted - 1) < 0.02,
    `${darkest(narrow) / darkest(wide)}, ${wanted}`,
  );
});
