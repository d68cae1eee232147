import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSheet, writeSheet } from '../src/analytics/worksheets/sheet.ts';
import type { Bins, SeriesFrame } from '../src/api/columns.ts';
import { fetchSpan, TimeAxis } from '../src/charts/axis.ts';
import { beyondLimit, cellsOf, extentOf, mergeBins, onEdge, quantileOf } from '../src/charts/bins.ts';
import { csv } from '../src/charts/download.ts';
import { gapsOf } from '../src/charts/gaps.ts';
import { Colours, lastValue, linesOf, statsOf, within } from '../src/charts/lines.ts';
import { groupInWords, groupsOf } from '../src/charts/marks.ts';
import { linearTicks, logTicks } from '../src/charts/units.ts';

const ONE = 1 + 90 * 128; // the bin [1, 1.1)
const bins = (...counts: [bin: number, count: number][]): Bins => ({
  at: Int32Array.from(counts, ([bin]) => bin),
  counts: Float64Array.from(counts, ([, count]) => count),
  total: counts.reduce((sum, [, count]) => sum + count, 0),
});

test('people beyond a limit: whole bins exactly, within a bin their share', () => {
  const all = bins([ONE, 10], [ONE + 1, 20], [ONE + 90, 5]); // 1.0, 1.1, 10
  assert.equal(beyondLimit(all, 1), 35);
  assert.equal(beyondLimit(all, 1.1), 25);
  assert.equal(beyondLimit(all, 1.15), 15);
  assert.equal(beyondLimit(all, 11), 0);
  assert.equal(onEdge(1.1499), 1.1);
  assert.equal(onEdge(0), 0);
});

test('histograms merge by adding, and give quantiles', () => {
  const all = mergeBins([bins([ONE, 50]), null, bins([ONE, 40], [ONE + 90, 10])]);
  assert.deepEqual([[...all.at], [...all.counts], all.total], [[ONE, ONE + 90], [90, 10], 100]);
  assert.ok(quantileOf(all, 0.5) >= 1 && quantileOf(all, 0.5) < 1.1);
  assert.ok(quantileOf(all, 0.95) >= 10);
  assert.ok(Number.isNaN(quantileOf(bins(), 0.5)));
});

test('trimming takes no more than its share, and says how many; what is left fills the picture', () => {
  const all = bins([ONE, 990], [ONE + 1, 5], [ONE + 180, 5]);
  const trimmed = extentOf(all, 'log', 0.005);
  assert.deepEqual([trimmed.above, trimmed.upper], [5, 1.2]);
  assert.equal(extentOf(all, 'log', 0).above, 0);
  const cells = cellsOf([all, null], extentOf(all, 'log', 0), 10);
  assert.ok((cells[0] as number) > 0, 'the least is at the bottom');
  assert.ok((cells[9 * 2] as number) > 0, 'the greatest at the top');
  assert.ok(
    [...cells].filter((_, at) => at % 2 === 1).every((count) => count === 0),
    'what was not measured is empty',
  );
});

const frame = (lines: [Record<string, string>, number[]][]): SeriesFrame => ({
  start: 100,
  step: 1,
  count: (lines[0] as [unknown, number[]])[1].length,
  lines: lines.map(([labels, values]) => ({ labels, values: Float64Array.from(values) })),
});
const byDisk = (labels: Readonly<Record<string, string>>) =>
  labels.disk === undefined ? null : { key: labels.disk, text: labels.disk };

test('a value that did not occur is no gap; a second without a total is one', () => {
  const lines = linesOf(
    frame([
      [{ disk: 'a' }, [1, Number.NaN, Number.NaN, 4]],
      [{ disk: 'b' }, [2, 2, Number.NaN, 2]],
      [{}, [3, 2, Number.NaN, 6]],
    ]),
    byDisk,
    new Colours(),
  );
  assert.deepEqual([...lines.total], [3, 2, Number.NaN, 6]);
  assert.equal(lines.additive, true);
  assert.equal(lines.all.length, 2, 'the total is no value');
});

test('what does not add up is not stacked', () => {
  const lines = linesOf(
    frame([
      [{ disk: 'a' }, [80, 90]],
      [{ disk: 'b' }, [10, 20]],
      [{}, [45, 55]],
    ]),
    byDisk,
    new Colours(),
  );
  assert.equal(lines.additive, false);
});

test('the greatest are drawn apart, the others as one; colours stay when values move', () => {
  const colours = new Colours();
  const many = Array.from({ length: 30 }, (_, at): [Record<string, string>, number[]] => [
    { disk: `d${at}` },
    [30 - at, 30 - at],
  ]);
  const lines = linesOf(frame(many), byDisk, colours, 20);
  assert.equal(lines.drawn.length, 21);
  const rest = lines.drawn.at(-1);
  assert.deepEqual([rest?.text, rest?.values[0], rest?.drillable], ['10 others', 55, false]);
  const before = lines.all.find(({ key }) => key === 'd3')?.colour;
  const after = linesOf(frame([...many].reverse()), byDisk, colours, 20).all.find(({ key }) => key === 'd3')?.colour;
  assert.equal(after, before);
});

test('values that are no amounts are not added up: those that differ most are drawn, also one that is low for a while', () => {
  const many = Array.from({ length: 60 }, (_, at): [Record<string, string>, number[]] => [
    { disk: `d${at}` },
    [50 + (at % 10) / 100, 50, 50, 50],
  ]);
  many[40] = [{ disk: 'low' }, [50, 50, 3, 50]];
  many[41] = [{ disk: 'high' }, [80, 80, 80, 80]];
  many[42] = [{ disk: 'away' }, [Number.NaN, Number.NaN, Number.NaN, 50]];
  const lines = linesOf(frame(many), byDisk, new Colours(), 20, false);
  assert.deepEqual([lines.drawn.length, lines.all.length], [20, 60]);
  const drawn = lines.drawn.map(({ key }) => key);
  assert.ok(drawn.includes('low') && drawn.includes('high') && !drawn.includes('away'), drawn.join(' '));
  // All alike: the first ones, and always the same.
  const alike = many.map(([labels]): [Record<string, string>, number[]] => [labels, [1, 1]]);
  const twice = [0, 1].map(() => linesOf(frame(alike), byDisk, new Colours(), 20, false).drawn.map(({ key }) => key));
  assert.deepEqual(twice[0], twice[1]);
});

test('the last value is the last that there is', () => {
  assert.equal(lastValue(Float64Array.of(1, 2, Number.NaN)), 2);
  assert.ok(Number.isNaN(lastValue(Float64Array.of(Number.NaN))));
});

test('sums and averages are of the time that is seen, and of what was measured in it', () => {
  const values = Float64Array.from([1, 2, Number.NaN, 3]);
  assert.deepEqual(within({ start: 100, step: 10, count: 4 }, 110, 125), [1, 3]);
  const { average, min, max, sum, last } = statsOf(values, 0, 4, 10);
  assert.deepEqual([average, min, max, sum, last], [2, 1, 3, 60, 3]);
});

test('the axis: what is dragged into the future is live; zooming keeps the moment under the pointer', () => {
  const axis = new TimeAxis({ range: 100, end: 1000 }, () => 2000);
  axis.zoom(0.5, 975);
  assert.deepEqual(axis.span, { start: 937.5, end: 987.5 });
  axis.pan(-50);
  assert.equal(axis.span.end, 937.5);
  axis.pan(5000);
  assert.equal(axis.live, true);
  axis.zoom(2);
  assert.equal(axis.live, true);
  assert.equal(axis.range, 100);
  axis.set({ range: 1, end: 500 });
  assert.equal(axis.range, 10, 'no less than can be seen');
});

test('live, a chart that is painted in a new second makes the others follow, once', () => {
  let now = 1000;
  const axis = new TimeAxis({ range: 60, end: null }, () => now);
  assert.equal(axis.span.end, 999);
  let painted = 0;
  axis.onPaint(() => {
    painted += 1;
    // As a chart does: it reads the span when it is painted.
    assert.equal(axis.span.end, 1000);
  });
  now = 1001.5;
  assert.equal(axis.span.end, 1000);
  assert.equal(axis.span.end, 1000);
  assert.equal(painted, 1);
});

test('a page survives the way through its address; what is no chart in a link is left out', () => {
  const sheet = {
    time: { range: 600, end: 1_790_000_000 },
    charts: [{ id: 'c1', statistic: 'io.ops[file="a]b"][latency]', limit: 0.1, quantiles: [0.99], highlight: ['ü&='] }],
  };
  assert.deepEqual(readSheet(new URLSearchParams(writeSheet(sheet).toString())), sheet);
  const bad = [
    { id: 'c1' },
    { id: 'c2', statistic: 'a', query: 'b' },
    7,
    { id: 'c3', query: 'up', trim: 9, display: 'pie' },
  ];
  const read = readSheet(new URLSearchParams({ charts: JSON.stringify(bad), range: 'x' }));
  assert.deepEqual(read, { time: null, charts: [{ id: 'c3', query: 'up' }] });
  assert.equal(readSheet(new URLSearchParams({ charts: '[{"id' })).charts, null);
});

test('CSV: quoted as it must be, no formulas, gaps empty', () => {
  assert.equal(csv([['a"b', 'x,y', '=1+1', Number.NaN, -1.5]]), `"a""b","x,y",'=1+1,,-1.5\r\n`);
});

test('ticks are round: powers of two for bytes, of ten for the rest', () => {
  assert.deepEqual(linearTicks(0, 100, 4, 'count'), [0, 50, 100]);
  assert.deepEqual(linearTicks(0, 4096, 4, 'bytes'), [0, 1024, 2048, 3072, 4096]);
  assert.deepEqual(logTicks(0.001, 1, 5), [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1]);
});

test('what stands still is read with a margin, seldom anew, and never short of what is seen', () => {
  const past = fetchSpan({ range: 300, end: 10_000 }, 1, 50_000);
  assert.ok(past.start <= 10_000 - 300 - 75 && past.end >= 10_000 + 75);
  const spans = Array.from({ length: 60 }, (_, second) => fetchSpan({ range: 300, end: 10_000 }, 1, 10_002 + second));
  assert.ok(new Set(spans.map(({ end }) => end)).size <= 6);
  assert.ok(spans.every(({ end }) => end >= 10_000));
});

test('a gap is where nothing was measured, not where nothing happened, nor what has not come yet', () => {
  const bins = { at: new Int32Array([1]), counts: new Float64Array([3]), total: 3 };
  const frame = (step: number, columns: (typeof bins | null)[]) => ({ start: 1000, step, columns });
  const measured = (step: number, start: number, values: number[]) => ({
    ...{ start, step, count: values.length },
    lines: [{ labels: {}, values: Float64Array.from(values) }],
  });
  const nan = Number.NaN;
  // 1000: 3 events, 1001: none, 1002 and 1003: not measured, 1004: none, 1005: not there yet.
  const seconds = frame(1, [bins, null, null, null, null, null]);
  assert.deepEqual(gapsOf(seconds, measured(1, 1000, [1, 1, nan, nan, 1])), [[2, 4]]);
  // Steps of a minute: a point is at the end of its step. Before the first nothing was measured.
  const minutes = frame(60, [null, null, bins, null, null]);
  assert.deepEqual(gapsOf(minutes, measured(60, 1000, [nan, nan, 60, 60, nan, 7])), [
    [0, 1],
    [3, 4],
  ]);
  assert.deepEqual(gapsOf(frame(1, [null, null]), measured(1, 1000, [])), []);
  // What was measured is there, whatever is known of the events.
  assert.deepEqual(gapsOf(frame(1, [bins, bins]), measured(1, 1000, [nan, nan])), []);
});

test('more than fifty marks in view become counted groups; nothing is lost, and the worst shows', () => {
  const marks = Array.from({ length: 60 }, (_, i) => ({
    ...{
      time: 100 + i,
      severity: i === 30 ? ('critical' as const) : ('info' as const),
      kind: i % 4 ? 'alert' : 'snapshot',
    },
    title: `mark ${i}`,
  }));
  const fifty = groupsOf(marks.slice(0, 50), 0, 1000, 20);
  assert.deepEqual([fifty.length, groupInWords(fifty[3] as (typeof fifty)[0])], [50, 'mark 3']);
  const groups = groupsOf(marks.toReversed(), 0, 1000, 20);
  assert.deepEqual(
    groups.map(({ time, last, severity, marks: all }) => [time, last, severity, all.length]),
    [
      [100, 120, 'info', 21],
      [121, 141, 'critical', 21],
      [142, 159, 'info', 18],
    ],
  );
  assert.equal(groupInWords(groups[0] as (typeof groups)[0]), '21 events: 15 alerts, 6 snapshots');
  // What is out of sight counts for nothing: closer, each is seen.
  assert.equal(groupsOf(marks, 110, 120, 20).length, 11);
});
