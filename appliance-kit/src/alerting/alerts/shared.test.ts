import assert from 'node:assert/strict';
import { test } from 'node:test';
import { groupTitle, sharedBy, sharedWords } from './shared.ts';

const series = (count: number, version: string, from = 0) =>
  Array.from({ length: count }, (_, n) => ({ host: `h${from + n}`, version, job: 'shop' }));

test('what tells those that are bad from those that are well is found; what all have is not it', () => {
  const bad = series(998, 'v3');
  const well = [...series(640, 'v2', 998), ...series(12, 'v3', 1638)];
  const found = sharedBy(bad, [...bad, ...well]);
  assert.equal(found.of, 1650);
  assert.deepEqual(found.common, { version: 'v3', job: 'shop' });
  assert.deepEqual(found.apart, [{ label: 'version', value: 'v3', members: 998, others: 12 }]);
  assert.equal(sharedWords(found, 998), 'All have version=v3; so do 12 of the 652 other series.');
});

test('one that is not quite of all of them is said with its number; what half of the others have as well is nothing', () => {
  const bad = [...series(95, 'v3'), ...series(5, 'v2', 95)];
  const found = sharedBy(bad, [...bad, ...series(100, 'v2', 100)]);
  assert.equal(sharedWords(found, 100), '95 of the 100 have version=v3; none of the 100 other series does.');
  const even = sharedBy(series(10, 'v3'), [...series(10, 'v3'), ...series(6, 'v3', 10), ...series(4, 'v2', 16)]);
  assert.deepEqual(even.apart, []);
  assert.equal(sharedWords(even, 10), '');
});

test('of a rule whose series are not known, or all of which are bad, it is what they have in common', () => {
  for (const population of [null, series(3, 'v3')]) {
    const found = sharedBy(series(3, 'v3'), population);
    assert.equal(sharedWords(found, 3), 'All have version=v3, job=shop in common.');
  }
  assert.equal(sharedWords(sharedBy([{ host: 'a' }, { host: 'b' }], null), 2), '');
});

test('a title says how many of how many; of one alert it is that of the alert', () => {
  const about = { ruleName: 'Every gauge', suffix: '', firstTitle: 'Every gauge (host="h1")' };
  assert.equal(groupTitle({ ...about, count: 998, series: 998, of: 1650 }), 'Every gauge: 998 of 1,650 series');
  assert.equal(groupTitle({ ...about, count: 998, series: 998, of: null }), 'Every gauge: 998 series');
  assert.equal(groupTitle({ ...about, count: 998, series: 998, of: 998 }), 'Every gauge: 998 series');
  assert.equal(groupTitle({ ...about, count: 1, series: 1, of: 1650 }), 'Every gauge (host="h1")');
  // One that flaps.
  assert.equal(groupTitle({ ...about, count: 4, series: 1, of: 1650 }), 'Every gauge (host="h1"), 4 times');
  const silent = { ...about, suffix: ' has no data', count: 3, series: 3, of: 9 };
  assert.equal(groupTitle(silent), 'Every gauge has no data: 3 of 9 series');
  assert.equal(
    groupTitle({ ...about, ruleName: null, firstTitle: 'Disk sda', count: 3, series: 3, of: null }),
    'Disk sda, and 2 more',
  );
});
