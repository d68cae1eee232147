import assert from 'node:assert/strict';
import { test } from 'node:test';
import { extent, gridOf, naturalScale, place, rankShades, valueAt } from '../src/charts/shading.ts';

const column = (time: number, ...bins: [number, number, number][]) => ({ time, bins });

test('an empty cell has no shade; the fullest is the darkest; equal counts look alike', () => {
  const shades = rankShades(Float64Array.of(0, 1, 1, 5, 1_000_000, 0));
  assert.equal(shades[0], 0);
  assert.equal(shades[5], 0);
  assert.equal(shades[1], shades[2]);
  assert.equal(shades[4], 1);
  assert.ok((shades[1] as number) > 0.3, 'one outlier among a million shows');
});

test('counts are kept when bins are spread over rows', () => {
  const bins: [number, number, number][] = [
    [0.1, 0.11, 40],
    [0.5, 0.9, 10],
    [1.5, 1.6, 2],
  ];
  for (const scale of ['log', 'linear'] as const) {
    const grid = gridOf([column(100, ...bins)], { start: 100, step: 1, columns: 3, rows: 20, scale, trim: 0 });
    const sum = grid.counts.reduce((total, count) => total + count, 0);
    assert.ok(Math.abs(sum - 52) < 1e-9, `${scale}: ${sum}`);
    assert.ok(
      Array.from(grid.counts).every((count, cell) => count === 0 || cell % 3 === 0),
      'only in its column',
    );
  }
});

test('values of zero and below stay on the picture', () => {
  const grid = gridOf([column(0, [0, 0, 3], [1, 1.1, 1])], {
    start: 0,
    step: 1,
    columns: 1,
    rows: 10,
    scale: 'log',
    trim: 0,
  });
  assert.ok(Math.abs(grid.counts.reduce((a, b) => a + b, 0) - 4) < 1e-9);
  assert.ok((grid.counts[0] as number) >= 3);
});

test('trimming leaves out at most the share that was asked for, and says how many', () => {
  const columns = [column(0, [0.1, 0.11, 990], [50, 51, 10])];
  assert.equal(extent(columns, 'linear', 0).above, 0);
  assert.deepEqual(extent(columns, 'linear', 0.01), { lower: 0, upper: 0.11, above: 10 });
  assert.equal(extent(columns, 'linear', 0.005).above, 0, 'ten of a thousand are more than half a percent');
});

test('a column outside the window is not drawn', () => {
  const grid = gridOf([column(-5, [1, 2, 1]), column(3, [1, 2, 1])], {
    start: 0,
    step: 1,
    columns: 3,
    rows: 4,
    scale: 'linear',
    trim: 0,
  });
  assert.equal(
    grid.counts.reduce((a, b) => a + b, 0),
    0,
  );
});

test('place and valueAt are inverses', () => {
  for (const scale of ['log', 'linear'] as const) {
    const range = { lower: 0.01, upper: 10, scale };
    for (const value of [0.01, 0.3, 1, 10]) assert.ok(Math.abs(valueAt(place(value, range), range) - value) < 1e-9);
  }
});

test('a wide range is logarithmic, a narrow one linear, and nothing at all is neither a crash nor a line', () => {
  assert.equal(naturalScale([column(0, [0.001, 0.0011, 1], [2, 2.1, 1])]), 'log');
  assert.equal(naturalScale([column(0, [1, 1.1, 1], [2, 2.1, 1])]), 'linear');
  const grid = gridOf([], { start: 0, step: 1, columns: 2, rows: 2, scale: 'log', trim: 0 });
  assert.equal(grid.counts.length, 4);
});
