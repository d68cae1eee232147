import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Branch, isNew, treeOf } from '../src/analytics/explore/tree.ts';
import type { Metric } from '../src/api/telemetry.ts';

const metric = (name: string, firstTime = 0): Metric => ({ name, type: 'gauge', series: 1, firstTime, lastTime: 0 });
const sorted = (names: readonly string[]) => [...names].sort().map((name) => metric(name));
const many = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, n) => `${prefix}${String(n).padStart(3, '0')}`);

/** As `prefix(count: metrics, branches)`. */
const drawn = ({ prefix, count, branches, metrics }: Branch): string =>
  `${prefix}(${count}: ${[...metrics.map(({ name }) => name), ...branches.map(drawn)].join(' ')})`;

test('a few names are a list, many with dots a tree with counts', () => {
  const few = sorted(['a.b', 'a.c', 'up']);
  assert.deepEqual(treeOf(few), { prefix: '', count: 3, branches: [], metrics: few });
  const tree = treeOf(
    sorted([
      ...many('shop.eu.orders.', 12),
      ...many('shop.us.', 10),
      'shop.all',
      'alone.x',
      'up',
      'odd.',
      '.x',
      'a..b',
    ]),
  );
  assert.deepEqual(
    tree.branches.map(({ prefix, count }) => [prefix, count]),
    [['shop.', 23]],
  );
  assert.deepEqual(
    tree.metrics.map(({ name }) => name),
    ['.x', 'a..b', 'alone.x', 'odd.', 'up'],
  );
  const [shop] = tree.branches;
  assert.deepEqual(
    shop?.branches.map(({ prefix, count }) => [prefix, count]),
    [
      // What all of them begin with is one branch.
      ['shop.eu.orders.', 12],
      ['shop.us.', 10],
    ],
  );
  assert.deepEqual(
    shop?.metrics.map(({ name }) => name),
    ['shop.all'],
  );
});

test('every metric is in the tree once, and the counts are those of what is below', () => {
  const parts = ['a', 'b', 'c', '', 'dd'];
  const names = new Set<string>();
  for (let seed = 1; names.size < 500; seed = (seed * 48_271) % 2_147_483_647) {
    const length = 1 + (seed % 5);
    names.add(
      Array.from({ length }, (_, n) => `${parts[(seed >> n) % parts.length]}${(seed >> (2 * n)) % 7}`).join('.'),
    );
  }
  const seen: string[] = [];
  const walk = (branch: Branch): number => {
    seen.push(...branch.metrics.map(({ name }) => name));
    for (const { name } of branch.metrics) assert.ok(name.startsWith(branch.prefix), `${name} in ${drawn(branch)}`);
    const count = branch.metrics.length + branch.branches.reduce((sum, one) => sum + walk(one), 0);
    assert.equal(branch.count, count, branch.prefix);
    if (branch.prefix !== '') assert.ok(count >= 2);
    return count;
  };
  walk(treeOf(sorted([...names])));
  assert.deepEqual(seen.sort(), [...names].sort());
});

test('new is what came within a day into a store that is older', () => {
  const now = 10 * 86_400;
  assert.equal(isNew(metric('a', now - 3_600), 0, now), true);
  assert.equal(isNew(metric('a', now - 2 * 86_400), 0, now), false);
  assert.equal(isNew(metric('a', now - 3_600), now - 3_600, now), false, 'all of it is');
});
