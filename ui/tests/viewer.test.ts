// The viewer of support bundles: that it is made of its sources as they are, and where its values and its time begin.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { viewer } from '../scripts/write-viewer.ts';
import { frameOf, lengthInWords, startOf } from '../src/support/viewer/day.ts';

const root = path.join(import.meta.dirname, '../..');

test('services/support/bundle/viewer.html is what ui/src/support/viewer makes', async () => {
  const ours = readFileSync(path.join(root, 'services/support/bundle/viewer.html'), 'utf8');
  assert.ok(ours === (await viewer()), 'it differs; run: node ui/scripts/write-viewer.ts');
});

const day = { start: 0, end: 86_400, step: 300 };
const chart = (...values: [number, number][]) => ({ title: 'CPU', unit: 'percent', series: [{ label: '', values }] });

test('viewer: a value stands in its place, and what was not measured is a gap', () => {
  const { count, lines } = frameOf(day, chart([600, 1], [1200, 2], [86_400, 3], [90_000, 4]));
  const [line] = lines;
  assert.equal(count, 289);
  assert.deepEqual([...(line?.values.slice(2, 5) ?? [])], [1, Number.NaN, 2]);
  assert.equal(line?.values[288], 3);
});

test('viewer: charts begin with the first value, a quarter of an hour before the end at the latest', () => {
  const from = (...charts: ReturnType<typeof chart>[]) => startOf({ ...day, charts });
  assert.equal(from(chart([600, 1]), chart([300, 1])), 300);
  assert.equal(from(chart([86_300, 1])), 85_500);
  assert.equal(from(chart()), 85_500);
  assert.deepEqual([86_100, 7200, 900].map(lengthInWords), ['day', '2 hours', '15 minutes']);
});
